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
    const bool armed = event.Arm() == Arming::kArmed;
    if (!armed && attempt.Abort()) continue;
    Waiter late;
    late.Bind(attempt, 1);
    WaitTimer timer(late);
    if (armed) timer.Arm(deadline);
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

template <class C>
void Block(C& event, bool shielded = false) {
  BlockUntil(event, kForever, shielded);
}

// The same for objects that can look and link under one lock, which saves taking it twice:
// `try_or_link(self, arm)` does the operation and returns true, or calls `arm()`, links the waiter
// it returns if it is not null, and returns false. `unlink` takes the waiter out again. Returns
// true if the operation was done at once, false if the waiter was claimed for it.
template <class TryOrLink, class Unlink>
[[gnu::always_inline]] inline bool BlockDirect(Waiter& waiter, const ParkReason& reason,
                                               const void* object, TryOrLink try_or_link,
                                               Unlink unlink) {
  Parker* parker = EnterBlocking();
  bool shielded = false;
  for (;;) {
    Attempt attempt(parker);
    bool begun = false;
    const bool done = try_or_link(parker, [&]() -> Waiter* {
      begun = attempt.Begin(shielded || parker->words.shield_depth != 0);
      if (!begun) return nullptr;
      waiter.Bind(attempt, 0);
      return &waiter;
    });
    if (done) return true;
    if (begun) {
      if (attempt.Await(reason, object) == 0) return false;
      unlink();
    }
    ThrowIfCancelled(*parker);
    shielded = Shielded(*parker);
  }
}

}  // namespace csp::internal

#endif  // CSP_SELECT_BLOCK_H_
