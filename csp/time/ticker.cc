#include "csp/time/ticker.h"

#include <algorithm>
#include <string>

#include "csp/base/clock.h"
#include "csp/base/panic.h"
#include "csp/select/block.h"

namespace csp {
namespace {

std::int64_t Nanos(absl::Duration period, const char* call) {
  if (period <= absl::ZeroDuration()) {
    throw InvalidArgument(std::string(call) + ": the period is " + absl::FormatDuration(period) +
                          "; give more than 0, or Stop the ticker");
  }
  return std::max<std::int64_t>(absl::ToInt64Nanoseconds(period), 1);
}

std::int64_t FirstAfter(std::int64_t period) {
  return internal::DeadlineAfter(internal::NowNanos(), absl::Nanoseconds(period));
}

}  // namespace

Ticker::Ticker(absl::Duration period)
    : alarm_(FirstAfter(Nanos(period, "Ticker")), Nanos(period, "Ticker")) {}

std::int64_t Ticker::Tick() {
  TickEvent event(*this);
  Block(event);
  return event.ticks();
}

void Ticker::Reset(absl::Duration period) {
  const std::int64_t nanos = Nanos(period, "Ticker::Reset");
  alarm_.Set(FirstAfter(nanos), nanos);
}

}  // namespace csp
