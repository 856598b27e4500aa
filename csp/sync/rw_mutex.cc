#include "csp/sync/rw_mutex.h"

#include "csp/base/clock.h"
#include "csp/select/block.h"
#include "csp/sync/internal/check.h"

namespace csp {
namespace {

constexpr ParkReason kWriter{"Lock", "rw_mutex"};
constexpr ParkReason kReader{"RLock", "rw_mutex"};

}  // namespace

// A wait of a plain verb.
class RWMutex::Wait final : public internal::Permits::TakeCase {
 public:
  Wait(RWMutex& mutex, std::int64_t weight)
      : TakeCase(mutex.permits_, weight), mutex_(mutex), weight_(weight) {}

  const ParkReason& reason() const override { return weight_ == kAll ? kWriter : kReader; }
  const void* object() const override { return &mutex_; }

 private:
  RWMutex& mutex_;
  const std::int64_t weight_;
};

void RWMutex::lock() {
  if (try_lock()) return;
  Wait wait(*this, kAll);
  (void)internal::BlockUntil(wait, internal::kForever, /*shielded=*/true);
}

void RWMutex::unlock() {
  // All are taken only if a writer has them.
  if (!permits_.Give(kAll)) {
    internal::ThrowSyncError(
        "RWMutex::unlock: no writer has the lock; unlock once for each lock, and with "
        "unlock_shared "
        "for each lock_shared");
  }
}

void RWMutex::lock_shared() {
  if (try_lock_shared()) return;
  Wait wait(*this, kOne);
  (void)internal::BlockUntil(wait, internal::kForever, /*shielded=*/true);
}

void RWMutex::unlock_shared() {
  if (!permits_.Give(kOne, /*at_least=*/1)) {
    internal::ThrowSyncError(
        "RWMutex::unlock_shared: no reader has the lock; unlock once for each lock_shared, and "
        "with "
        "unlock for each lock");
  }
}

bool RWMutex::LockUntil(std::int64_t weight, std::int64_t deadline) {
  Wait wait(*this, weight);
  return internal::BlockUntil(wait, deadline);
}

bool RWMutex::try_lock_for(absl::Duration limit) {
  return LockUntil(kAll, internal::DeadlineAfter(internal::NowNanos(), limit));
}
bool RWMutex::try_lock_until(absl::Time deadline) {
  return LockUntil(kAll, internal::FromTime(deadline));
}
bool RWMutex::try_lock_shared_for(absl::Duration limit) {
  return LockUntil(kOne, internal::DeadlineAfter(internal::NowNanos(), limit));
}
bool RWMutex::try_lock_shared_until(absl::Time deadline) {
  return LockUntil(kOne, internal::FromTime(deadline));
}

const ParkReason& RWMutex::LockEvent::reason() const { return kWriter; }
const ParkReason& RWMutex::RLockEvent::reason() const { return kReader; }

#ifndef NDEBUG
RWMutex::~RWMutex() {
  if (permits_.available() != kAll || permits_.has_waiters()) {
    internal::AbortDestroyedInUse("RWMutex: destroyed while somebody has the lock or waits for it");
  }
}
#endif

}  // namespace csp
