// Limits in the standard's terms.
#ifndef CSP_SYNC_INTERNAL_STD_TIME_H_
#define CSP_SYNC_INTERNAL_STD_TIME_H_

#include <chrono>

#include "absl/time/time.h"

namespace csp::internal {

// Rounded up to nanoseconds; what these cannot hold is infinite. (absl::FromChrono takes the
// standard's six units alone, and converting to them overflows: the least moment became a late one.)
template <class Rep, class Period>
absl::Duration FromStd(std::chrono::duration<Rep, Period> duration) {
  using Nanos = std::chrono::nanoseconds;
  using Real = std::chrono::duration<long double>;
  if (Real(duration) <= Real(Nanos::min())) return -absl::InfiniteDuration();
  if (!(Real(duration) < Real(Nanos::max()))) return absl::InfiniteDuration();
  return absl::FromChrono(std::chrono::ceil<Nanos>(duration));
}

// From now until `deadline`.
template <class AnyClock, class Span>
absl::Duration LimitOf(std::chrono::time_point<AnyClock, Span> deadline) {
  return FromStd(deadline.time_since_epoch()) - FromStd(AnyClock::now().time_since_epoch());
}

}  // namespace csp::internal

#endif  // CSP_SYNC_INTERNAL_STD_TIME_H_
