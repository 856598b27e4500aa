// What a Timer and a Ticker are: a moment at which there is something to take, once or each period.
//
// An alarm is data. It has no entry in a timer heap and nothing to run: whoever asks compares the
// moment with the clock, and whoever waits brings a heap entry of its own (a WaitTimer, in its
// frame) that claims its wait when the moment comes. So an alarm that nobody waits for costs
// nothing, is stopped by a store, and cannot leave an old tick behind: there is no place for one.
//
// Invariants
//  1. A tick is there exactly while the alarm is set and the clock has reached `due_`. It is taken
//     under `mu_`, by Poll or Accept on the fiber that asked; so each is taken once.
//  2. A waiter that is linked has, or is about to have, a WaitTimer at the `due_` under which it
//     was linked. Whatever moves `due_` to something earlier, or to never, claims all who are
//     linked; they look again. (Taking a tick moves it later: the others find out at the old one.)
//  3. A wait may so be claimed by the heap or by the alarm, through one waiter: only the first
//     claim counts. The waiter leaves the list, and the WaitTimer the heap, in Disarm, or in Accept
//     where the case has won, whoever was the claimer.
//
// Lock: `mu_` guards everything. The heap's lock is never taken under it, nor it under the heap's.
#ifndef CSP_TIME_INTERNAL_ALARM_H_
#define CSP_TIME_INTERNAL_ALARM_H_

#include <cstdint>

#include "csp/base/clock.h"
#include "csp/base/leaning_lock.h"
#include "csp/select/case.h"
#include "csp/select/wait_list.h"
#include "csp/select/wait_timer.h"

namespace csp::internal {

class Alarm {
 public:
  // First due at `due`; then every `period` nanoseconds, or never again if that is 0.
  Alarm(std::int64_t due, std::int64_t period) : period_(period), due_(due), set_(true) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Takes what has become due since the last time: how many ticks, 0 if none.
  std::int64_t Take();

  // Nothing is due any more. True if it was set: as a timer, running or its tick not taken.
  bool Stop();

  // Starts anew; what was due and not taken is gone. Returns what Stop would have.
  bool Set(std::int64_t due, std::int64_t period);

 private:
  friend class AlarmCase;

  std::int64_t TakeLocked(std::int64_t now);
  bool Change(bool set, std::int64_t due, std::int64_t period);

  LeaningLock mu_;
  std::int64_t period_;
  std::int64_t due_;  // kForever: never
  bool set_;
  WaitList waiters_;
};

// A wait for an alarm. Chosen fairly among all that is ready, unlike a timeout, which comes last.
class AlarmCase : public Case {
 public:
  explicit AlarmCase(Alarm& alarm) : Case(Kind::kAsk), alarm_(alarm), timer_(waiter) {}

  bool Poll() final;
  Arming Arm() final;
  void Disarm() noexcept final;
  bool Accept() final;

  const void* object() const final { return &alarm_; }

  // How many have been taken; after Poll or Accept has said true.
  std::int64_t ticks() const { return ticks_; }

 protected:
  ~AlarmCase() = default;

 private:
  Alarm& alarm_;
  WaitTimer timer_;
  std::int64_t ticks_ = 0;
};

}  // namespace csp::internal

#endif  // CSP_TIME_INTERNAL_ALARM_H_
