#include "csp/time/internal/alarm.h"

#include <mutex>

namespace csp::internal {

// The clock is read before the lock is taken: it may be a system call. A reading that is a little
// old can only miss a tick that has just become due, never take one early.

std::int64_t Alarm::Take() {
  const std::int64_t now = NowNanos();
  const std::lock_guard lock(mu_);
  return TakeLocked(now);
}

std::int64_t Alarm::TakeLocked(std::int64_t now) {
  if (!set_ || now < due_ || due_ == kForever) return 0;
  if (period_ == 0) {
    set_ = false;
    return 1;
  }
  // Ticks stay on the grid that the first one began, however late anybody comes.
  const std::int64_t ticks = (now - due_) / period_ + 1;
  std::int64_t step;
  if (__builtin_mul_overflow(ticks, period_, &step) || __builtin_add_overflow(due_, step, &due_)) {
    due_ = kForever;
  }
  return ticks;
}

bool Alarm::Stop() { return Change(false, kForever, 0); }

bool Alarm::Set(std::int64_t due, std::int64_t period) { return Change(true, due, period); }

bool Alarm::Change(bool set, std::int64_t due, std::int64_t period) {
  WakeList wake;
  bool was_set;
  {
    const std::lock_guard lock(mu_);
    was_set = set_;
    set_ = set;
    due_ = due;
    period_ = period;
    wake.Claim(waiters_, false);
  }
  wake.WakeAll();
  return was_set;
}

bool AlarmCase::Poll() { return (ticks_ = alarm_.Take()) != 0; }

Arming AlarmCase::Arm() {
  std::int64_t due;
  const std::int64_t now = NowNanos();
  {
    const std::lock_guard lock(alarm_.mu_);
    due = alarm_.set_ ? alarm_.due_ : kForever;
    if (due <= now && due != kForever) return Arming::kReady;
    alarm_.waiters_.PushBack(waiter);
  }
  // A change in between has claimed the waiter: then this entry does nothing until it is taken out.
  timer_.Arm(due);
  return Arming::kArmed;
}

void AlarmCase::Disarm() noexcept {
  timer_.Disarm();
  const std::lock_guard lock(alarm_.mu_);
  alarm_.waiters_.Remove(waiter);
}

bool AlarmCase::Accept() {
  timer_.Disarm();
  const std::int64_t now = NowNanos();
  const std::lock_guard lock(alarm_.mu_);
  alarm_.waiters_.Remove(waiter);
  ticks_ = alarm_.TakeLocked(now);
  return ticks_ != 0;
}

}  // namespace csp::internal
