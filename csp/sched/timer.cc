#include "csp/sched/timer.h"

#include "csp/base/thread_context.h"
#include "csp/sched/internal/timer_heap.h"
#include "csp/sched/internal/worker.h"
#include "csp/sched/runtime.h"

namespace csp::internal {

void Timer::Arm(std::int64_t deadline) {
  never_due_ = deadline == kForever;
  if (never_due_) return;
  if (Worker* worker = CurrentThread()->worker) {
    Runtime& runtime = worker->runtime();
    if (worker->timers().Add(*this, deadline) && runtime.idle().WakeForTimer(deadline)) {
      runtime.poller().Break();
    }
    return;
  }
  Runtime& runtime = Runtime::Current();
  if (runtime.worker(0).timers().Add(*this, deadline) && runtime.idle().WakeAfterForeignPush()) {
    runtime.poller().Break();
  }
}

bool Timer::Disarm() {
  if (never_due_) {
    never_due_ = false;
    return true;
  }
  return heap_ != nullptr && heap_->Remove(*this);
}

}  // namespace csp::internal
