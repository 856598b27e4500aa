// Jobs about time: timers, and how soon a woken task runs.

#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/channel_op_status.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <chrono>
#include <vector>

#include "bench/boost_fiber/fiber.h"
#include "bench/boost_fiber/jobs.h"
#include "bench/harness/workload.h"

namespace bench {

Result Sleepers(int64_t n) {
  const auto naps = Naps(n);
  std::vector<std::chrono::nanoseconds> late(naps.size());
  Stopwatch watch;
  Countdown tasks(n);
  for (std::size_t i = 0; i < naps.size(); ++i) {
    Go([&, i] {
      Stopwatch asleep;
      boost::this_fiber::sleep_for(naps[i]);
      late[i] = asleep.Elapsed() - naps[i];
      tasks.Done();
    });
  }
  tasks.Wait();
  const auto elapsed = watch.Elapsed();
  return {elapsed, Percentiles(late)};
}

// The waker computes for 2 ms without yielding, so a shorter wait can only have
// ended on another thread.
Result WakeLatency(int64_t n) {
  constexpr auto kBusy = std::chrono::milliseconds(2);
  constexpr auto kSuccess = boost::fibers::channel_op_status::success;

  // The least capacity there is: the waker never blocks on it.
  boost::fibers::buffered_channel<Stopwatch> wake(2);
  boost::fibers::buffered_channel<std::chrono::nanoseconds> awake(2);
  boost::fibers::fiber sleeper(boost::fibers::launch::post, [&] {
    Stopwatch sent;
    while (wake.pop(sent) == kSuccess) awake.push(sent.Elapsed());
  });
  std::vector<std::chrono::nanoseconds> waits(static_cast<std::size_t>(n));
  Stopwatch watch;
  for (auto& wait : waits) {
    const Stopwatch sent;
    wake.push(sent);
    ComputeUntil(sent, kBusy);
    wait = awake.value_pop();
  }
  const auto elapsed = watch.Elapsed();
  wake.close();
  sleeper.join();
  return {elapsed, Percentiles(waits)};
}

}  // namespace bench
