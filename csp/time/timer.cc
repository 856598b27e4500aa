#include "csp/time/timer.h"

#include "csp/base/clock.h"
#include "csp/select/block.h"

namespace csp {

Timer::Timer(absl::Duration delay)
    : alarm_(internal::DeadlineAfter(internal::NowNanos(), delay), 0) {}

void Timer::Wait() {
  FireEvent event(*this);
  Block(event);
}

bool Timer::Reset(absl::Duration delay) {
  return alarm_.Set(internal::DeadlineAfter(internal::NowNanos(), delay), 0);
}

}  // namespace csp
