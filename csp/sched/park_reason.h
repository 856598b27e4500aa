// Why something waits: a constant descriptor that the caller of Park gives, so that the scheduler
// can name what it does not know. Shown by DumpFibers and the deadlock report.
#ifndef CSP_SCHED_PARK_REASON_H_
#define CSP_SCHED_PARK_REASON_H_

namespace csp {

struct ParkReason {
  const char* verb;  // "Recv"
  const char* room;  // "chan"
};

}  // namespace csp

#endif  // CSP_SCHED_PARK_REASON_H_
