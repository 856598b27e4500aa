// A value whose copies and end the explorer sees: a copy that is made after the value has been
// destroyed, or not ordered before, is a race.
#ifndef CSP_TESTS_MODEL_TRACKED_VALUE_H_
#define CSP_TESTS_MODEL_TRACKED_VALUE_H_

#include "csp/testing/model.h"

namespace csp::internal {

class TrackedValue {
 public:
  explicit TrackedValue(int number) : number_(number) {}
  TrackedValue(const TrackedValue& other) : number_(other.number()) {}
  TrackedValue(TrackedValue&& other) noexcept : number_(other.number()) {}
  TrackedValue& operator=(const TrackedValue&) = delete;

  int number() const { return number_.Read(); }

 private:
  csp::testing::ModelPlain<int> number_;
};

}  // namespace csp::internal

#endif  // CSP_TESTS_MODEL_TRACKED_VALUE_H_
