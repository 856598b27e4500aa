// Invariants
//  1. While mu_ is free: arrived_ < parties_, or there are no parties. arrived_ counts those that
//     have called Arrive in this phase and those whose waiter is linked in arrivals_.
//  2. The waits of arrivals_ are direct (direct_wait.h): who is linked there is undecided, and a
//     canceller that unlinks one takes its arrival back under the same lock. Therefore the last
//     arrival finds that all have arrived, and can let all of them pass. With waits that could be
//     decided elsewhere it could not: it might have claimed some when another proved to be gone.
//  3. Who waits in waiters_ waits for the phase that is current.
//  4. Claims are made under mu_, wakes come after it and are the last arrival's last touch.
#include "csp/sync/barrier.h"

#include <mutex>

#include "csp/base/clock.h"
#include "csp/select/block.h"
#include "csp/select/direct_wait.h"
#include "csp/sync/internal/check.h"

namespace csp {
namespace {

constexpr ParkReason kArriveReason{"ArriveAndWait", "barrier"};
constexpr ParkReason kWaitReason{"Wait", "barrier"};

}  // namespace

class Barrier::Arrival final : public internal::DirectWait {
 public:
  explicit Arrival(Barrier& barrier)
      : DirectWait(internal::EnterBlocking(), kArriveReason, &barrier), barrier_(barrier) {}

 private:
  bool Withdraw(Waiter& waiter) noexcept override {
    const std::lock_guard lock(barrier_.mu_);
    if (!waiter.linked()) return false;
    barrier_.arrivals_.Remove(waiter);
    --barrier_.arrived_;
    return true;
  }

  Barrier& barrier_;
};

Barrier::Barrier(std::int64_t parties) : parties_(parties) {
  if (parties < 1) internal::ThrowBadArgument("Barrier: there must be at least one party");
}

void Barrier::CheckParties() const {
  if (parties_ == 0) {
    internal::ThrowSyncError(
        "Barrier::Arrive: all parties have been dropped; each drops itself once and arrives no "
        "more");
  }
}

void Barrier::CheckPhase(Phase phase) const {
  if (phase > phase_) {
    internal::ThrowSyncError(
        "Barrier::Wait: the phase has not begun; wait for a phase that Arrive has returned");
  }
}

// One more has arrived: if it is the last, the phase ends.
void Barrier::ArriveLocked(WakeList& wake) {
  if (++arrived_ < parties_) return;
  arrived_ = 0;
  ++phase_;
  wake.Claim(arrivals_, true);
  wake.Claim(waiters_, true);
}

bool Barrier::ArriveAndWait() {
  Arrival arrival(*this);
  for (;;) {
    WakeList wake;
    bool last = false;
    {
      const std::lock_guard lock(mu_);
      CheckParties();
      last = arrived_ + 1 == parties_;
      if (last) {
        ArriveLocked(wake);
      } else if (Waiter* waiter = arrival.Begin()) {
        arrivals_.PushBack(*waiter);
        ++arrived_;
      }
    }
    if (last) {
      wake.WakeAll();
      return true;
    }
    if (arrival.Await()) return false;
  }
}

Barrier::Phase Barrier::Arrive() {
  WakeList wake;
  Phase phase;
  {
    const std::lock_guard lock(mu_);
    CheckParties();
    phase = phase_;
    ArriveLocked(wake);
  }
  wake.WakeAll();
  return phase;
}

void Barrier::ArriveAndDrop() {
  WakeList wake;
  {
    const std::lock_guard lock(mu_);
    CheckParties();
    --parties_;
    --arrived_;  // its arrival is counted against one party less
    ArriveLocked(wake);
  }
  wake.WakeAll();
}

bool Barrier::TryWait(Phase phase) {
  const std::lock_guard lock(mu_);
  CheckPhase(phase);
  return phase < phase_;
}

void Barrier::Wait(Phase phase) {
  WaitEvent event(*this, phase);
  Block(event);
}

bool Barrier::WaitFor(Phase phase, absl::Duration limit) {
  WaitEvent event(*this, phase);
  return internal::BlockUntil(event, internal::DeadlineAfter(internal::NowNanos(), limit));
}

bool Barrier::WaitUntil(Phase phase, absl::Time deadline) {
  WaitEvent event(*this, phase);
  return internal::BlockUntil(event, internal::FromTime(deadline));
}

Barrier::WaitEvent Barrier::OnWait(Phase phase) {
  (void)TryWait(phase);  // throws, if the phase has not begun
  return WaitEvent(*this, phase);
}

Arming Barrier::WaitEvent::Arm() {
  const std::lock_guard lock(barrier_.mu_);
  if (phase_ < barrier_.phase_) return Arming::kReady;
  barrier_.waiters_.PushBack(waiter);
  return Arming::kArmed;
}

void Barrier::WaitEvent::Disarm() noexcept {
  const std::lock_guard lock(barrier_.mu_);
  barrier_.waiters_.Remove(waiter);
}

const ParkReason& Barrier::WaitEvent::reason() const { return kWaitReason; }

#ifndef NDEBUG
Barrier::~Barrier() {
  const std::lock_guard lock(mu_);
  if (!arrivals_.empty() || !waiters_.empty()) {
    internal::AbortDestroyedInUse("Barrier: destroyed while somebody waits");
  }
}
#endif

}  // namespace csp
