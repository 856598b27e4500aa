#include "csp/time/time.h"

#include <algorithm>

#include "csp/sched/yield.h"
#include "csp/select/block.h"

namespace csp {
namespace {

// A wait for a moment alone.
class Moment final : public Case {
 public:
  Moment() : Case(Kind::kLast) {}
  bool Poll() override { return false; }
  Arming Arm() override { return Arming::kArmed; }
  void Disarm() noexcept override {}
  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Sleep", "time"};
    return kReason;
  }
  const void* object() const override { return nullptr; }
};

void Sleep(std::int64_t now, std::int64_t deadline) {
  if (deadline <= now) {
    internal::EnterBlocking();
    internal::YieldNow();
    return;
  }
  Moment never;
  internal::BlockUntil(never, deadline);
}

}  // namespace

absl::Time Now() { return internal::ToTime(internal::NowNanos()); }

void SleepFor(absl::Duration duration) {
  const std::int64_t now = internal::NowNanos();
  Sleep(now, internal::DeadlineAfter(now, duration));
}

void SleepUntil(absl::Time time) { Sleep(internal::NowNanos(), internal::FromTime(time)); }

TimeoutEvent OnTimeout(absl::Duration duration) {
  const std::int64_t delay =
      duration <= absl::ZeroDuration() ? 0 : absl::ToInt64Nanoseconds(duration);
  return TimeoutEvent(delay, internal::kForever);
}

TimeoutEvent OnDeadline(absl::Time time) {
  return TimeoutEvent(internal::kForever, internal::FromTime(time));
}

bool TimeoutEvent::Poll() {
  if (delay_ == 0) return true;
  return deadline_ != internal::kForever && internal::NowNanos() >= deadline_;
}

Arming TimeoutEvent::Arm() {
  if (deadline_ == internal::kForever && delay_ != internal::kForever) {
    // The one reading of the clock: only a select that waits gets here.
    deadline_ = internal::DeadlineAfter(internal::NowNanos(), absl::Nanoseconds(delay_));
  }
  timer_.Arm(deadline_);
  return Arming::kArmed;
}

const ParkReason& TimeoutEvent::reason() const {
  static constexpr ParkReason kReason{"Timeout", "time"};
  return kReason;
}

}  // namespace csp
