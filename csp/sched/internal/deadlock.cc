#include "csp/sched/internal/deadlock.h"

#include <dirent.h>

#include <utility>
#include <vector>

#include "csp/base/atomic.h"
#include "csp/sched/dump.h"
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

// A program may have millions of fibers.
constexpr std::size_t kMostNamed = 100;

// Threads beside the main one when csp was loaded.
constinit Atomic<std::size_t> baseline{0};

}  // namespace

void NoteBaselineThreads() {
  const std::size_t threads = ThreadsOfProcess();
  if (threads != SIZE_MAX) baseline.store(threads - 1, std::memory_order_relaxed);
}

namespace {

// What the process looks like. Two that are equal: nobody of those who are accounted for has acted
// from the one to the other.
struct Picture {
  bool quiet = true;  // nothing is at work, queued, armed or watched outside
  bool somebody_waits = false;
  std::size_t accounted = 0;  // threads that can do nothing by themselves
  std::uint64_t switches = 0;
  std::vector<std::pair<const ThreadRecord*, std::uint32_t>> waits;  // of plain threads

  bool operator==(const Picture&) const = default;
};

Picture Look() {
  Picture picture;
  picture.accounted = baseline.load(std::memory_order_relaxed);
  // ThreadSanitizer starts its thread together with the program's first.
  if (kTsan && picture.accounted == 0) picture.accounted = 1;
  ThreadRecord::ForEach([&](const ThreadRecord& thread) {
    // One that has been notified is on its way, however long that takes.
    if (const std::uint32_t wait = thread.current_wait()) picture.waits.emplace_back(&thread, wait);
  });
  picture.accounted += picture.waits.size();
  picture.somebody_waits = !picture.waits.empty();
  ForEachRuntime([&](Runtime& runtime) {
    const auto workers = static_cast<std::uint32_t>(runtime.worker_count());
    // A watcher that is roused, or about to look again, may hold what it has just found.
    picture.quiet = picture.quiet && runtime.idle().count() == workers &&
                    !runtime.idle().roused() && runtime.inject().size() == 0 &&
                    !runtime.poller().HasSources() && runtime.blocking_pool().quiet();
    for (int i = 0; picture.quiet && i < runtime.worker_count(); ++i) {
      const Worker& worker = runtime.worker(i);
      picture.quiet = worker.timer_count() == 0 && worker.LooksIdle();
      picture.switches += worker.switches();
    }
    picture.accounted += workers + runtime.blocking_pool().threads();
    picture.somebody_waits = picture.somebody_waits || runtime.live_tasks() != 0;
  });
  return picture;
}

}  // namespace

constinit Atomic<void (*)()> between_deadlock_looks{nullptr};

// The threads are counted before anything else is looked at: one that acts and ends meanwhile has
// still been counted, and is not accounted for. A thread that is accounted for may be woken after
// it has been looked at, by one that is looked at later and waits by then: so everything is looked
// at twice. Those who have not acted from the first look to the second all wait at the moment of
// the second count, and if that finds nobody else, nobody is left to wake them.
bool EverythingWaits() {
  const std::size_t threads = ThreadsOfProcess();
  const Picture picture = Look();
  if (!picture.quiet || !picture.somebody_waits || threads > picture.accounted) return false;
  if (auto* const meanwhile = between_deadlock_looks.load(std::memory_order_relaxed)) meanwhile();
  return ThreadsOfProcess() <= picture.accounted && Look() == picture;
}

std::string DeadlockReport() {
  return "csp: deadlock: every fiber and every thread waits, and nothing can wake one\n" +
         DumpFibers(kMostNamed);
}

}  // namespace csp::internal
