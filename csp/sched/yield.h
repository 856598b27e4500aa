// Giving way.
#ifndef CSP_SCHED_YIELD_H_
#define CSP_SCHED_YIELD_H_

#include "csp/sched/parker.h"

namespace csp::internal {

// Puts the calling fiber behind all others that are ready on its worker; on a plain thread the
// kernel's sched_yield. Not a cancellation point.
inline void YieldNow() { Parker::Current()->Yield(/*voluntary=*/true); }

// As YieldNow, at the end of an operation budget: not a sign that the fiber has nothing to do with
// its neighbours, so thieves take no notice.
inline void YieldForTurn() { Parker::Current()->Yield(/*voluntary=*/false); }

// The calling thread's random source: its worker's, or its own.
class Random;
Random& ThisRandom();

// True if a spin of the caller may be worth while: whoever it waits for may be running elsewhere,
// and the caller keeps no other fiber from its worker meanwhile.
bool SpinMayHelp();

// Adds one to the worker's count of selects that began anew.
void NoteSelectRetry();

}  // namespace csp::internal

#endif  // CSP_SCHED_YIELD_H_
