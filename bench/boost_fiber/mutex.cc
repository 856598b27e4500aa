// The job about a contended mutex.

#include <boost/fiber/mutex.hpp>
#include <mutex>

#include "bench/boost_fiber/fiber.h"
#include "bench/boost_fiber/jobs.h"

namespace bench {

Result Mutex(int64_t n) {
  constexpr int kTasks = 8;
  Stopwatch watch;
  boost::fibers::mutex mutex;
  int64_t count = 0;
  Countdown tasks(kTasks);
  for (int t = 0; t < kTasks; ++t) {
    Go([&, t] {
      for (int64_t i = t; i < n; i += kTasks) {
        std::lock_guard<boost::fibers::mutex> lock(mutex);
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
