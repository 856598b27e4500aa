// A counter with one writer at a time, readable from anywhere: a plain addition. Whoever reads a
// count sees what happened before it was reached.
#ifndef CSP_SCHED_INTERNAL_COUNTER_H_
#define CSP_SCHED_INTERNAL_COUNTER_H_

#include <cstdint>

#include "csp/base/atomic.h"

namespace csp::internal {

class Counter {
 public:
  void Add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_release);
  }
  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }

 private:
  Atomic<std::uint64_t> value_{0};
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_COUNTER_H_
