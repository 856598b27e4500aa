#include "csp/sync/wait_group.h"

#include "csp/base/clock.h"
#include "csp/sync/internal/check.h"

namespace csp {

WaitGroup::WaitGroup(std::int64_t count) : count_(count) {
  if (count < 0) internal::ThrowBadArgument("WaitGroup: the count at the beginning is negative");
}

void WaitGroup::Add(std::int64_t delta) {
  if (!count_.Add(delta)) {
    internal::ThrowSyncError(
        "WaitGroup::Add: the count would be negative; call Done once for each that was added");
  }
}

void WaitGroup::Done() {
  if (!count_.Add(-1)) {
    internal::ThrowSyncError(
        "WaitGroup::Done: the count would be negative; call Done once for each that was added");
  }
}

void WaitGroup::Wait() {
  WaitEvent event(*this);
  Block(event);
}

bool WaitGroup::WaitFor(absl::Duration limit) {
  WaitEvent event(*this);
  return internal::BlockUntil(event, internal::DeadlineAfter(internal::NowNanos(), limit));
}

bool WaitGroup::WaitUntil(absl::Time deadline) {
  WaitEvent event(*this);
  return internal::BlockUntil(event, internal::FromTime(deadline));
}

const ParkReason& WaitGroup::WaitEvent::reason() const {
  static constexpr ParkReason kReason{"Wait", "wait_group"};
  return kReason;
}

#ifndef NDEBUG
WaitGroup::~WaitGroup() {
  if (count_.has_waiters()) {
    internal::AbortDestroyedInUse("WaitGroup: destroyed while somebody waits");
  }
}
#endif

}  // namespace csp
