// Says which fiber's stack overflowed before the process dies of it.
#ifndef CSP_SCHED_INTERNAL_OVERFLOW_REPORT_H_
#define CSP_SCHED_INTERNAL_OVERFLOW_REPORT_H_

namespace csp::internal {

// Installs the process's SIGSEGV handler, once. It prints a report if the fault lies in a fiber's
// guard, then lets whatever handler was there before go on (by default: the process dies, also of a
// SIGSEGV that was sent).
void InstallOverflowReport();

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_OVERFLOW_REPORT_H_
