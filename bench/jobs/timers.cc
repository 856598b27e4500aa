// Jobs about time: timers, and how soon a woken task runs.

#include <chrono>
#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "bench/harness/workload.h"
#include "bench/jobs/countdown.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {

Result Sleepers(int64_t n) {
  const auto naps = Naps(n);
  std::vector<std::chrono::nanoseconds> late(naps.size());
  Stopwatch watch;
  Countdown tasks(n);
  for (std::size_t i = 0; i < naps.size(); ++i) {
    csp::Go([&, i] {
      Stopwatch asleep;
      csp::SleepFor(absl::FromChrono(naps[i]));
      late[i] = asleep.Elapsed() - naps[i];
      tasks.Done();
    });
  }
  tasks.Wait();
  const auto elapsed = watch.Elapsed();
  return {elapsed, Percentiles(late)};
}

// The waker computes for 2 ms without yielding, so a shorter wait can only have
// ended on another worker.
Result WakeLatency(int64_t n) {
  constexpr auto kBusy = std::chrono::milliseconds(2);

  // Capacity 1: the waker never blocks on it.
  auto wake = csp::MakeChan<Stopwatch>(1);
  auto awake = csp::MakeChan<std::chrono::nanoseconds>(1);
  auto sleeper = csp::Go([&] {
    for (const Stopwatch& sent : wake) awake.Send(sent.Elapsed());
  });
  std::vector<std::chrono::nanoseconds> waits(static_cast<std::size_t>(n));
  Stopwatch watch;
  for (auto& wait : waits) {
    const Stopwatch sent;
    wake.Send(sent);
    ComputeUntil(sent, kBusy);
    wait = awake.Recv().value();
  }
  const auto elapsed = watch.Elapsed();
  wake.Close();
  sleeper.Join();
  return {elapsed, Percentiles(waits)};
}

}  // namespace bench
