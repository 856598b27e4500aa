// The kernel's wait-on-address, the one blocking call of the scheduler.
#ifndef CSP_SCHED_INTERNAL_FUTEX_H_
#define CSP_SCHED_INTERNAL_FUTEX_H_

#include <cstdint>

#include "csp/base/atomic.h"

namespace csp::internal {

// Sleeps while `word` holds `expected`, at the most until `until` on csp's time line; may also
// return for no reason. Under a clock that does not run by itself only a wake ends it.
void FutexWait(Atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t until);

// The same for `nanos` of real time, whatever the clock.
void FutexWaitFor(Atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t nanos);

// Wakes one, of those who sleep on `word`.
void FutexWake(Atomic<std::uint32_t>& word);
void FutexWakeAll(Atomic<std::uint32_t>& word);

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_FUTEX_H_
