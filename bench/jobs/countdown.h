// Waits for a number of tasks to be done.

#ifndef CSP_BENCH_JOBS_COUNTDOWN_H_
#define CSP_BENCH_JOBS_COUNTDOWN_H_

#include <atomic>
#include <cstdint>

#include "csp/csp.h"

namespace bench {

// It may live on the stack of the fiber that waits: the last Done touches
// nothing but the event, and no Done touches anything after that.
class Countdown {
 public:
  explicit Countdown(int64_t n) : left_(n) {}
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

  void Done() {
    if (left_.fetch_sub(1) == 1) zero_.Set();
  }

  void Wait() { zero_.Wait(); }

 private:
  std::atomic<int64_t> left_;
  csp::Event zero_;
};

}  // namespace bench

#endif  // CSP_BENCH_JOBS_COUNTDOWN_H_
