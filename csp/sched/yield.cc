#include "csp/sched/yield.h"

#include <thread>

#include "csp/sched/internal/thread_record.h"
#include "csp/sched/internal/worker.h"
#include "csp/sched/runtime.h"

namespace csp::internal {

Random& ThisRandom() {
  if (Worker* worker = CurrentThread()->worker) return worker->random();
  return ThreadRecord::OfThisThread()->random();
}

bool SpinMayHelp() {
  if (const Worker* worker = CurrentThread()->worker) {
    return worker->runtime().worker_count() > 1 && worker->LooksIdle();
  }
  static const bool many = std::thread::hardware_concurrency() > 1;
  return many;
}

void NoteSelectRetry() {
  if (Worker* worker = CurrentThread()->worker) worker->counters.select_retries.Add();
}

}  // namespace csp::internal
