#include "csp/sched/yield.h"

#include <thread>

#include "csp/sched/internal/thread_record.h"
#include "csp/sched/internal/worker.h"

namespace csp::internal {

void YieldNow() {
  ThreadContext* thread = CurrentThread();
  if (thread->worker == nullptr || thread->parker == nullptr) {
    std::this_thread::yield();
  } else {
    thread->worker->Yield(static_cast<Fiber&>(*thread->parker), /*voluntary=*/true);
  }
}

void YieldForTurn() {
  ThreadContext* thread = CurrentThread();
  thread->worker->Yield(static_cast<Fiber&>(*thread->parker), /*voluntary=*/false);
}

Random& ThisRandom() {
  if (Worker* worker = CurrentThread()->worker) return worker->random();
  return ThreadRecord::OfThisThread()->random();
}

void NoteSelectRetry() {
  if (Worker* worker = CurrentThread()->worker) worker->counters.select_retries.Add();
}

}  // namespace csp::internal
