// Runs one case to its end: what a plain blocking verb (Wait, Join, Recv …) is made of.
#ifndef CSP_SELECT_BLOCK_H_
#define CSP_SELECT_BLOCK_H_

#include <cstdint>

#include "csp/base/clock.h"
#include "csp/select/blocking.h"
#include "csp/select/case.h"
#include "csp/select/wait_timer.h"

namespace csp::internal {

// Blocks until `event` has happened and been accepted, or until `deadline`; true if it has
// happened. An event that is ready wins over a deadline that has passed. Throws Cancelled, having
// done nothing. `shielded`: is no cancellation point. A template, so that the calls of a final
// class are direct.
template <class C>
bool BlockUntil(C& event, std::int64_t deadline, bool shielded = false) {
  Parker* parker = shielded ? Parker::Current() : EnterBlocking();
  for (;;) {
    if (event.Poll()) return true;
    if (deadline != kForever && NowNanos() >= deadline) return false;
    Attempt attempt(parker);
    if (!attempt.Begin(shielded || parker->words.shield_depth != 0)) {
      ThrowIfCancelled(*parker);
      shielded = true;  // unwinding
      continue;
    }
    event.waiter.Bind(attempt, 0);
    // Not armed means unlinked: nobody but a canceller can have claimed the attempt then.
    Waiter late;
    late.Bind(attempt, 1);
    WaitTimer timer(late);
    bool armed = false;
    try {
      armed = event.Arm() == Arming::kArmed;
      if (armed) timer.Arm(deadline);
    } catch (...) {
      if (attempt.Abort()) {
        event.Disarm();
        throw;
      }
      // Decided before: what has happened stands.
    }
    if (!armed && attempt.Abort()) continue;
    const int index = attempt.Await(event.reason(), event.object());
    if (index != 1) timer.Disarm();
    if (index == 0) {
      if (event.Accept()) return true;
      continue;
    }
    event.Disarm();
    if (index == 1) continue;  // one last look, then the deadline has passed
    ThrowIfCancelled(*parker);
    shielded = shielded || Shielded(*parker);
  }
}

}  // namespace csp::internal

namespace csp {

// Blocks until `event` has happened and been accepted. Throws Cancelled, having done nothing.
template <class C>
void Block(C& event) {
  internal::BlockUntil(event, internal::kForever);
}

}  // namespace csp

#endif  // CSP_SELECT_BLOCK_H_
