// Time: now, sleeping, and timeouts as events.
//
//   csp::SleepFor(absl::Milliseconds(10));
//   csp::Select(ch.OnRecv() >> [](std::optional<int> v) { … },
//               csp::OnTimeout(absl::Seconds(1)) >> [] { … });
//
// All moments lie on csp's time line: the wall clock as it stood when the process started, advanced
// by the monotonic clock. Setting the system's clock moves nothing here. Arithmetic saturates: an
// infinite duration never ends, a negative one is over at once.
#ifndef CSP_TIME_TIME_H_
#define CSP_TIME_TIME_H_

#include <cstdint>

#include "absl/time/time.h"
#include "csp/base/clock.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_timer.h"

namespace csp {

// The current moment of csp's time line. Never runs backwards. About 30 ns.
absl::Time Now();

// Suspends the calling fiber (blocks the plain thread) for at least `duration`; zero or less only
// yields. Throws Cancelled.
void SleepFor(absl::Duration duration);
// The same until `time`; of one that has passed it only yields, too.
void SleepUntil(absl::Time time);

// Happens `duration` after the select began to wait. Of several events that are ready, a timeout
// comes last: one of zero or less is a Default. Of several that are due the earliest wins, of equal
// ones the first written. (In a PriSelect each has the place where it is written.) Costs nothing
// unless the select really waits.
class TimeoutEvent;
[[nodiscard]] TimeoutEvent OnTimeout(absl::Duration duration);
// Happens when `time` has come. Comes last, too: a loop over events that never run dry should test
// Now() by itself, or use a Timer (timer.h), which has its fair turn.
[[nodiscard]] TimeoutEvent OnDeadline(absl::Time time);

class TimeoutEvent final : public SelectEvent, public Case {
 public:
  using Result = Unit;

  bool Poll() override;
  Arming Arm() override;
  void Disarm() noexcept override { timer_.Disarm(); }
  std::int64_t moment() const override { return deadline_; }
  Result Take() { return {}; }

  const ParkReason& reason() const override;
  const void* object() const override { return nullptr; }

 private:
  friend TimeoutEvent OnTimeout(absl::Duration);
  friend TimeoutEvent OnDeadline(absl::Time);

  TimeoutEvent(std::int64_t delay, std::int64_t deadline)
      : Case(Kind::kLast), delay_(delay), deadline_(deadline), timer_(waiter) {}

  const std::int64_t delay_;  // kForever where `deadline_` was given
  std::int64_t deadline_;     // kForever until it is known
  internal::WaitTimer timer_;
};

}  // namespace csp

#endif  // CSP_TIME_TIME_H_
