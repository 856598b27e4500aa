// What is said of a fiber that does not take its cancellation as it should.
#ifndef CSP_SCHED_CANCEL_REPORT_H_
#define CSP_SCHED_CANCEL_REPORT_H_

#include <cstdint>

#include "csp/sched/parker.h"

namespace csp::internal {

// `parker` has been told `times` times that it is cancelled, and goes on: names it in a warning.
void WarnOfSwallowing(const Parker& parker, std::uint32_t times);

// `parker`, the caller, is about to throw Cancelled out of the blocking call that `call`, a return
// address, lies in. If the exception meets a function that is noexcept, std::terminate is called:
// from now on the process's terminate handler names the fiber and the call first.
void NoteCancelledCall(Parker& parker, const void* call);

}  // namespace csp::internal

#endif  // CSP_SCHED_CANCEL_REPORT_H_
