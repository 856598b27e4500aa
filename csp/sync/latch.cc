#include "csp/sync/latch.h"

#include "csp/base/clock.h"
#include "csp/select/blocking.h"
#include "csp/sync/internal/check.h"

namespace csp {

Latch::Latch(std::int64_t count) : count_(count) {
  if (count < 0) internal::ThrowBadArgument("Latch: the count is negative");
}

void Latch::CountDown(std::int64_t n) {
  // (The least number has no negative.)
  if (n < 0 || !count_.Add(-n)) {
    internal::ThrowSyncError(
        "Latch::CountDown: a negative number, or more than the latch's count; count each arrival "
        "once");
  }
}

void Latch::ArriveAndWait(std::int64_t n) {
  (void)internal::EnterBlocking();
  CountDown(n);
  Wait();
}

void Latch::Wait() {
  WaitEvent event(*this);
  Block(event);
}

bool Latch::WaitFor(absl::Duration limit) {
  WaitEvent event(*this);
  return internal::BlockUntil(event, internal::DeadlineAfter(internal::NowNanos(), limit));
}

bool Latch::WaitUntil(absl::Time deadline) {
  WaitEvent event(*this);
  return internal::BlockUntil(event, internal::FromTime(deadline));
}

const ParkReason& Latch::WaitEvent::reason() const {
  static constexpr ParkReason kReason{"Wait", "latch"};
  return kReason;
}

#ifndef NDEBUG
Latch::~Latch() {
  if (count_.has_waiters()) internal::AbortDestroyedInUse("Latch: destroyed while somebody waits");
}
#endif

}  // namespace csp
