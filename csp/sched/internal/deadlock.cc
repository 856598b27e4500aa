#include "csp/sched/internal/deadlock.h"

#include <dirent.h>

#include "csp/base/atomic.h"
#include "csp/sched/dump.h"
#include "csp/sched/internal/fiber_pool.h"
#include "csp/sched/internal/runtimes.h"
#include "csp/sched/internal/sanitizer.h"
#include "csp/sched/internal/thread_record.h"
#include "csp/sched/internal/worker.h"
#include "csp/sched/runtime.h"

namespace csp::internal {
namespace {

std::size_t ThreadsOfProcess() {
  DIR* directory = opendir("/proc/self/task");
  if (directory == nullptr) return SIZE_MAX;  // unknown: somebody may still act
  std::size_t count = 0;
  while (const dirent* entry = readdir(directory)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(directory);
  return count;
}

// Threads beside the main one when csp was loaded.
constinit Atomic<std::size_t> baseline{0};

}  // namespace

void NoteBaselineThreads() {
  const std::size_t threads = ThreadsOfProcess();
  if (threads != SIZE_MAX) baseline.store(threads - 1, std::memory_order_relaxed);
}

bool EverythingWaits() {
  std::size_t accounted = baseline.load(std::memory_order_relaxed);
  // ThreadSanitizer starts its thread together with the program's first.
  if (kTsan && accounted == 0) accounted = 1;
  bool quiet = true;
  ForEachRuntime([&](Runtime& runtime) {
    const auto workers = static_cast<std::uint32_t>(runtime.worker_count());
    // A watcher that is roused, or about to look again, may hold what it has just found.
    quiet = quiet && runtime.idle().idle() == workers && !runtime.idle().roused() &&
            runtime.inject().size() == 0 && !runtime.poller().HasSources() &&
            runtime.blocking_pool().quiet();
    for (int i = 0; quiet && i < runtime.worker_count(); ++i) {
      quiet = runtime.worker(i).timer_count() == 0 && runtime.worker(i).LooksIdle();
    }
    accounted += workers + runtime.blocking_pool().threads();
  });
  if (!quiet) return false;
  bool somebody_waits = false;
  ThreadRecord::ForEach([&](const ThreadRecord& thread) {
    // One that has been notified is on its way, however long that takes.
    if (thread.note.reason.load(std::memory_order_relaxed) == nullptr || thread.notified()) return;
    ++accounted;
    somebody_waits = true;
  });
  FiberPool::Get().ForEachHot([&](const Fiber* fiber) {
    if (fiber->runtime.load(std::memory_order_relaxed) != nullptr) somebody_waits = true;
  });
  return somebody_waits && ThreadsOfProcess() <= accounted;
}

std::string DeadlockReport() {
  return "csp: deadlock: every fiber and every thread waits, and nothing can wake one\n" +
         DumpFibers();
}

}  // namespace csp::internal
