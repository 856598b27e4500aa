// Does everything wait for something that cannot happen?
#ifndef CSP_SCHED_INTERNAL_DEADLOCK_H_
#define CSP_SCHED_INTERNAL_DEADLOCK_H_

#include <string>

#include "csp/base/atomic.h"

namespace csp::internal {

// Remembers the threads that are there before any of ours: a sanitizer's.
void NoteBaselineThreads();

// True only if every thread of the process is a worker that idles, a pool thread that idles, a
// plain thread parked in csp, or one of the baseline; no timer is armed, no poller has a source,
// nothing is queued; and at least one fiber or thread is parked. Never true by mistake: whatever
// is unknown counts as able to act.
bool EverythingWaits();

// For tests: what happens between two looks that must agree.
extern Atomic<void (*)()> between_deadlock_looks;

// The text of the report: what, then a line for each that waits.
std::string DeadlockReport();

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_DEADLOCK_H_
