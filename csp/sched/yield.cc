#include "csp/sched/yield.h"

#include "csp/sched/internal/thread_record.h"
#include "csp/sched/internal/worker.h"

namespace csp::internal {

Random& ThisRandom() {
  if (Worker* worker = CurrentThread()->worker) return worker->random();
  return ThreadRecord::OfThisThread()->random();
}

void NoteSelectRetry() {
  if (Worker* worker = CurrentThread()->worker) worker->counters.select_retries.Add();
}

}  // namespace csp::internal
