// The job about memory.

#include <boost/fiber/operations.hpp>
#include <boost/fiber/unbuffered_channel.hpp>
#include <chrono>

#include "bench/boost_fiber/fiber.h"
#include "bench/boost_fiber/jobs.h"
#include "bench/harness/workload.h"

namespace bench {

Result Parked(int64_t n) {
  const double before = ProcessStatus("VmRSS");
  boost::fibers::unbuffered_channel<int64_t> release;
  Countdown started(n);
  Countdown finished(n);

  Stopwatch spawn_watch;
  for (int64_t i = 0; i < n; ++i) {
    Go([&] {
      started.Done();
      int64_t nothing;
      release.pop(nothing);
      finished.Done();
    });
  }
  started.Wait();
  const auto spawned = spawn_watch.Elapsed();

  // The last ones reach the receive.
  boost::this_fiber::sleep_for(std::chrono::milliseconds(100));
  const double held = ProcessStatus("VmRSS") - before;

  Stopwatch release_watch;
  release.close();
  finished.Wait();
  const auto released = release_watch.Elapsed();

  return ParkedResult(n, held, spawned, released);
}

}  // namespace bench
