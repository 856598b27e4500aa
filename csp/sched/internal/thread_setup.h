// What a thread needs before it can run fibers.
#ifndef CSP_SCHED_INTERNAL_THREAD_SETUP_H_
#define CSP_SCHED_INTERNAL_THREAD_SETUP_H_

#include "csp/sched/internal/switch.h"

namespace csp::internal {

// Fills in `root`, the context of the calling thread's own stack, gives the thread a signal stack
// (an overflow of a fiber's stack is reported on it) and asks for exact timed waits.
void SetUpThread(Context& root);
void TearDownThread();

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_THREAD_SETUP_H_
