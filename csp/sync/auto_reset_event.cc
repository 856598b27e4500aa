// Invariants
//  1. While mu_ is free: if the event is set, nobody waits undecided.
//  2. A Set is used up by one claim or one look under the lock. Who is claimed has it; a waiter
//     that has been decided elsewhere is passed over, and the Set is kept if there is nobody else.
//  3. Claims are made under mu_, the wake comes after it, as Set's last touch.
#include "csp/sync/auto_reset_event.h"

#include <mutex>

#include "csp/base/clock.h"
#include "csp/select/block.h"
#include "csp/sync/internal/check.h"

namespace csp {

void AutoResetEvent::Set() {
  Waiter* waiter;
  {
    const std::lock_guard lock(mu_);
    waiter = waiters_.PopClaimed();
    if (waiter == nullptr) summary_.Set(kSet);
  }
  if (waiter != nullptr) waiter->Wake();
}

void AutoResetEvent::Reset() {
  const std::lock_guard lock(mu_);
  summary_.Set(0);
}

bool AutoResetEvent::TryWait() {
  const std::lock_guard lock(mu_);
  const bool was_set = is_set();
  summary_.Set(0);
  return was_set;
}

void AutoResetEvent::Wait() {
  WaitEvent event(*this);
  Block(event);
}

bool AutoResetEvent::WaitFor(absl::Duration limit) {
  WaitEvent event(*this);
  return internal::BlockUntil(event, internal::DeadlineAfter(internal::NowNanos(), limit));
}

bool AutoResetEvent::WaitUntil(absl::Time deadline) {
  WaitEvent event(*this);
  return internal::BlockUntil(event, internal::FromTime(deadline));
}

Arming AutoResetEvent::WaitEvent::Arm() {
  const std::lock_guard lock(event_.mu_);
  if (event_.is_set()) return Arming::kReady;
  event_.waiters_.PushBack(waiter);
  return Arming::kArmed;
}

void AutoResetEvent::WaitEvent::Disarm() noexcept {
  const std::lock_guard lock(event_.mu_);
  event_.waiters_.Remove(waiter);
}

const ParkReason& AutoResetEvent::WaitEvent::reason() const {
  static constexpr ParkReason kReason{"Wait", "auto_reset_event"};
  return kReason;
}

#ifndef NDEBUG
AutoResetEvent::~AutoResetEvent() {
  const std::lock_guard lock(mu_);
  if (!waiters_.empty()) {
    internal::AbortDestroyedInUse("AutoResetEvent: destroyed while somebody waits");
  }
}
#endif

}  // namespace csp
