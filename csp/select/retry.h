// What waits need of the scheduler beside parking: chance, giving way, and whether to spin.
#ifndef CSP_SELECT_RETRY_H_
#define CSP_SELECT_RETRY_H_

#include <cstdint>

namespace csp::internal {

// Uniform in [0, bound), from the calling worker's or thread's own source.
std::uint32_t RandomBelow(std::uint32_t bound);

// A select begins anew for the `round`-th time, from 0: counts it, and after a few gives way, so
// that selects which keep meeting half armed come apart.
void BackOff(int round);

// Whether a short spin may spare the caller a wait (sched/yield.h). Costs a few nanoseconds.
bool SpinMayPay();

}  // namespace csp::internal

#endif  // CSP_SELECT_RETRY_H_
