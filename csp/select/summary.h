// What a select may know of an object without its lock: one word of ready bits with a version.
//
// Select reads the summaries of all its cases, a load each, and only asks those objects that look
// ready. With a Default it reads them twice: if no version has moved in between, each case was
// unready over an interval that contains the moment between the two readings, so Default is taken
// only if at one instant nothing was ready.
#ifndef CSP_SELECT_SUMMARY_H_
#define CSP_SELECT_SUMMARY_H_

#include <cstdint>

#include "csp/base/atomic.h"

namespace csp {

class Summary {
 public:
  explicit Summary(std::uint64_t ready = 0) : word_(ready) {}

  static constexpr std::uint64_t kReadyBits = 0xFF;

  // Under the object's lock, after every change of its state.
  void Set(std::uint64_t ready) {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    if ((word & kReadyBits) == ready) return;
    // Pairs with Select's acquire loads.
    word_.store(((word & ~kReadyBits) + kReadyBits + 1) | ready, std::memory_order_release);
  }

  std::uint64_t Read() const { return word_.load(std::memory_order_acquire); }

 private:
  internal::Atomic<std::uint64_t> word_;
};

}  // namespace csp

#endif  // CSP_SELECT_SUMMARY_H_
