// A timer: an event that happens once, after a while, and can be stopped and started again.
//
//   csp::Timer idle(absl::Seconds(30));
//   for (bool open = true; open;) {
//     csp::Select(
//         in.OnRecv()   >> [&](std::optional<Job> job) { idle.Reset(absl::Seconds(30)); … },
//         idle.OnFire() >> [&] { open = false; });
//   }
//
// The timer fires when its time has come. From then on its tick is there, until one receiver takes
// it: one Wait, one OnFire that wins, or one TryFire. After that the timer is at rest until Reset.
//
// - After Stop or Reset has returned no tick of before can be received, by anybody.
// - Nothing is received early, measured on csp's time line (time.h).
// - Who waits while Stop or Reset is called goes on waiting, for the new moment if there is one.
// - In a Select, OnFire is chosen fairly among all events that are ready. OnTimeout and OnDeadline
//   come last: in a loop whose channels never run dry only a Timer is certain to have its turn.
//
//   verb     event      try
//   Wait     OnFire     TryFire
//
// For a timeout of a single Select, OnTimeout is simpler. To run a function later, see AfterFunc.
//
// Thread rules: all members from any fiber or thread. Destroy it only when nobody waits for it.
// Memory ordering: receiving a tick orders nothing.
// Cost: an object of its own, no allocation; a timer that nobody waits for costs nothing while it
// runs. If several wait, each is woken when the time comes, and those that find the tick taken wait
// on.
#ifndef CSP_TIME_TIMER_H_
#define CSP_TIME_TIMER_H_

#include "absl/time/time.h"
#include "csp/select/select_event.h"
#include "csp/time/internal/alarm.h"

namespace csp {

class Timer {
 public:
  class FireEvent;

  // Fires `delay` from now: at once if zero or less, never (until Reset) if infinite.
  explicit Timer(absl::Duration delay);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Blocks until the tick is there, and takes it. Throws Cancelled.
  void Wait();

  // The same for Select; no result.
  [[nodiscard]] FireEvent OnFire();

  // Takes the tick if it is there. Never suspends.
  bool TryFire() { return alarm_.Take() != 0; }

  // Nothing will be received any more. True: this call has prevented the tick, whether it was still
  // to come or lay there untaken. False: somebody has received it, or the timer was stopped before.
  // Never suspends.
  bool Stop() { return alarm_.Stop(); }

  // Fires `delay` from now instead, whatever has been before. Returns what Stop would have. Never
  // suspends.
  bool Reset(absl::Duration delay);

 private:
  internal::Alarm alarm_;
};

// Borrows the timer.
class Timer::FireEvent final : public SelectEvent, public internal::AlarmCase {
 public:
  using Result = Unit;

  explicit FireEvent(Timer& timer) : AlarmCase(timer.alarm_) {}

  Result Take() { return {}; }

  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Wait", "timer"};
    return kReason;
  }
};

inline Timer::FireEvent Timer::OnFire() { return FireEvent(*this); }

}  // namespace csp

#endif  // CSP_TIME_TIMER_H_
