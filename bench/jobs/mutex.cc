// The job about a contended mutex.

#include <mutex>

#include "bench/harness/workload.h"
#include "bench/jobs/countdown.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {

Result Mutex(int64_t n) {
  constexpr int kTasks = 8;
  Stopwatch watch;
  csp::Mutex mutex;
  int64_t count = 0;
  Countdown tasks(kTasks);
  for (int t = 0; t < kTasks; ++t) {
    csp::Go([&, t] {
      for (int64_t i = t; i < n; i += kTasks) {
        const std::lock_guard<csp::Mutex> lock(mutex);
        ++count;
      }
      tasks.Done();
    });
  }
  tasks.Wait();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("mutex's count", count, n);
  return {elapsed};
}

}  // namespace bench
