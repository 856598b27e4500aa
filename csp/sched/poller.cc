#include "csp/sched/poller.h"

#include "csp/sched/internal/futex.h"

namespace csp::internal {

void SleepPoller::Poll(std::int64_t until) {
  if (broken_.exchange(0, std::memory_order_acq_rel) != 0) return;
  FutexWait(broken_, 0, until);
  broken_.exchange(0, std::memory_order_acq_rel);
}

// A Break that falls between the sleeper's exchange and its wait is seen by the wait itself, which
// compares the word.
void SleepPoller::Break() {
  broken_.store(1, std::memory_order_release);
  FutexWake(broken_);
}

}  // namespace csp::internal
