#include "csp/sync/semaphore.h"

#include "csp/base/clock.h"
#include "csp/select/block.h"
#include "csp/sync/internal/check.h"

namespace csp {

Semaphore::Semaphore(std::int64_t size, std::int64_t available) : permits_(size, available) {
  if (available < 0 || available > size) {
    internal::ThrowBadArgument("Semaphore: the permits at the beginning must be in [0, size]");
  }
}

void Semaphore::CheckWeight(std::int64_t weight) const {
  if (weight < 0 || weight > size()) {
    internal::ThrowSyncError(
        "Semaphore::Acquire: the weight is negative or above the semaphore's size, so that it "
        "could never be had; ask for less or make a larger semaphore");
  }
}

void Semaphore::Acquire(std::int64_t weight) {
  CheckWeight(weight);
  AcquireEvent event(*this, weight);
  Block(event);
}

bool Semaphore::TryAcquire(std::int64_t weight) {
  CheckWeight(weight);
  return permits_.Take(weight);
}

bool Semaphore::AcquireFor(absl::Duration limit, std::int64_t weight) {
  CheckWeight(weight);
  AcquireEvent event(*this, weight);
  return internal::BlockUntil(event, internal::DeadlineAfter(internal::NowNanos(), limit));
}

bool Semaphore::AcquireUntil(absl::Time deadline, std::int64_t weight) {
  CheckWeight(weight);
  AcquireEvent event(*this, weight);
  return internal::BlockUntil(event, internal::FromTime(deadline));
}

Semaphore::AcquireEvent Semaphore::OnAcquire(std::int64_t weight) {
  CheckWeight(weight);
  return AcquireEvent(*this, weight);
}

void Semaphore::Release(std::int64_t weight) {
  if (!permits_.Give(weight)) {
    internal::ThrowSyncError(
        "Semaphore::Release: more permits than the semaphore's size, or a negative number; release "
        "what was acquired, once");
  }
}

const ParkReason& Semaphore::AcquireEvent::reason() const {
  static constexpr ParkReason kReason{"Acquire", "semaphore"};
  return kReason;
}

#ifndef NDEBUG
Semaphore::~Semaphore() {
  if (permits_.has_waiters()) {
    internal::AbortDestroyedInUse("Semaphore: destroyed while somebody waits");
  }
}
#endif

}  // namespace csp
