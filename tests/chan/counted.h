// An element that counts how many of its kind are alive, and that notices when it is used dead.
#ifndef TESTS_CHAN_COUNTED_H_
#define TESTS_CHAN_COUNTED_H_

#include <atomic>
#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace csp {

// Move-only. A moved-from one is empty; `value()` of an empty one fails the test.
class Counted {
 public:
  explicit Counted(int value) : value_(std::make_unique<int>(value)) { ++live_; }
  Counted(Counted&& other) noexcept : value_(std::move(other.value_)) { ++live_; }
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --live_; }

  bool empty() const { return value_ == nullptr; }
  int value() const {
    EXPECT_FALSE(empty());
    return empty() ? -1 : *value_;
  }

  static int live() { return live_.load(); }

 private:
  static inline std::atomic<int> live_{0};
  std::unique_ptr<int> value_;  // so that ASan and LSan see each one
};

}  // namespace csp

#endif  // TESTS_CHAN_COUNTED_H_
