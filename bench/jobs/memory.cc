// The job about memory.

#include "absl/time/time.h"
#include "bench/harness/workload.h"
#include "bench/jobs/countdown.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {

Result Parked(int64_t n) {
  const double before = ProcessStatus("VmRSS");
  auto release = csp::MakeChan<int64_t>();
  Countdown started(n);
  Countdown finished(n);

  Stopwatch spawn_watch;
  for (int64_t i = 0; i < n; ++i) {
    csp::Go([&] {
      started.Done();
      release.Recv();
      finished.Done();
    });
  }
  started.Wait();
  const auto spawned = spawn_watch.Elapsed();

  // The last ones reach the receive.
  csp::SleepFor(absl::Milliseconds(100));
  const double held = ProcessStatus("VmRSS") - before;

  Stopwatch release_watch;
  release.Close();
  finished.Wait();
  const auto released = release_watch.Elapsed();

  return ParkedResult(n, held, spawned, released);
}

}  // namespace bench
