// A runtime: workers, the queues between them, a poller and a pool of threads for blocking calls.
// csp/task gives it its public face (Run, Go, Shutdown); the rooms in between use it through
// Parker, Timer and Spawn.
//
// Life of a runtime
//   1. Start: the workers run.
//   2. BeginShutdown: Spawn is refused; live tasks go on (csp/task cancels them, again and again
//      until AwaitDrained says that none is left or the grace period is over).
//   3. Stop: the workers leave once they are idle. A worker that a stubborn task holds is left
//      behind, and with it the Runtime, which then may not be destroyed.
// The default runtime skips 2 and 3. At exit the workers of every runtime that is left freeze at
// their next switch, but go on while a static object's destructor waits.
#ifndef CSP_SCHED_RUNTIME_H_
#define CSP_SCHED_RUNTIME_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "csp/base/clock.h"
#include "csp/sched/blocking_pool.h"
#include "csp/sched/internal/idle.h"
#include "csp/sched/internal/inject_queue.h"
#include "csp/sched/internal/poll_turn.h"
#include "csp/sched/poller.h"
#include "csp/sched/stats.h"

namespace csp::internal {

class Worker;

struct RuntimeConfig {
  const char* call = "the default runtime";  // what starts it, for errors
  int workers = 0;                           // 0: as many as the process may use (cpu_count.h)
  std::size_t stack_size = 128 << 10;
  // Called, on a worker's own stack, with the report, when everything waits for something that
  // cannot happen. Empty: prints the report and aborts.
  std::function<void(const std::string&)> on_deadlock;
  // Told of failures that nobody can observe: task, name, spawn site, error. csp/task fills it in.
  std::function<void(std::uint64_t, const char*, const void*, std::exception_ptr)> on_panic;
};

class Runtime final : public ClockListener {
 public:
  // Throws RuntimeError if not all of its threads can be had.
  explicit Runtime(const RuntimeConfig& config);
  ~Runtime();

  // The process's runtime for whoever uses csp outside Run; starts on first use, with
  // RuntimeConfig{}. Never destroyed.
  static Runtime& Default();
  static Runtime* DefaultIfStarted();
  // The runtime of the calling fiber, or of the fiber whose Blocking call this is; null on any
  // other thread.
  static Runtime* OfCaller();
  // The same, and on any other thread the default one.
  static Runtime& Current();

  // Runs `task` some time, on a fiber of this runtime; see TaskRecord. Never suspends. Throws
  // RuntimeError after BeginShutdown and in a forked child.
  void Spawn(TaskRecord* task);

  // Makes a fiber of this runtime ready, from any thread.
  void MakeReady(Fiber* fiber);

  // --- Shutdown, for csp/task.

  void BeginShutdown();
  // Waits until no task is left, or until `until` (real time, whatever the clock); true if none is.
  bool AwaitDrained(std::chrono::steady_clock::time_point until);
  std::uint64_t live_tasks() const;
  // True if every worker has left; false if some are stuck (they get until `until`).
  bool Stop(std::chrono::steady_clock::time_point until);

  // Every task of this runtime that has not started; and about how many these are. `visit` is
  // called under the queues' locks (spinlock.h says what it may do) and says whether it wants more.
  void ForEachUnstarted(const std::function<bool(const TaskRecord&)>& visit);
  std::size_t unstarted_count() const;

  // Replaces the poller that the runtime begins with, also while workers sleep in it. At most once.
  void InstallPoller(std::shared_ptr<Poller> poller);

  // Unique in the process, from 1: tells a runtime from a later one in the same place.
  std::uint64_t number() const { return number_; }
  RuntimeStats stats() const;
  BlockingPool& blocking_pool() { return blocking_pool_; }
  int worker_count() const { return static_cast<int>(workers_.size()); }
  Worker& worker(int index) { return *workers_[static_cast<std::size_t>(index)]; }
  const RuntimeConfig& config() const { return config_; }

  // --- For the workers.

  InjectQueue& inject() { return inject_; }
  Idle& idle() { return idle_; }
  Poller& poller() { return *poller_.load(std::memory_order_acquire); }
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  bool frozen() const { return frozen_.load(std::memory_order_relaxed) != 0; }
  std::uint8_t default_stack_class() const { return default_stack_class_; }
  // Returns when the workers may go on.
  void Freeze();
  // The thread that ends the process is about to wait: true if runtimes were frozen, and are not
  // for now.
  static bool ThawForWait();
  static void FreezeAgain();
  // Throws RuntimeError in a forked child.
  static void CheckNotForked();
  void NoteFinished();
  void Call(Idle::Seat& seat);
  void AwaitCall(Idle::Seat& seat);
  // The watcher's two ways to sleep.
  void Nap(std::int64_t until);
  void SleepUntil(std::int64_t until, bool all_idle);
  // A worker has found work: what was concluded from its idleness is void.
  void NoteWork() {
    if (deadlock_looks_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      deadlock_looks_.store(0, std::memory_order_relaxed);
    }
  }
  // A plain thread is about to park: it may have been the last one that could act.
  static void NoteThreadParks();
  // A busy worker's look at the poller; does something at most every kPollEveryNanos.
  void PollNow(std::int64_t now);

  // `count` numbers for tasks, unique in the process; returns the one before the first.
  static std::uint64_t TakeNumbers(std::uint64_t count);

  void ClockMoved() override;

 private:
  void StartWorkers();
  void RunWorker(int index);
  void Poll(std::int64_t until);
  void SleepAndLookForDeadlock();
  static void FreezeAll();
  static void Thaw();

  const std::uint64_t number_;
  const RuntimeConfig config_;
  const std::uint8_t default_stack_class_;
  SleepPoller sleep_poller_;
  std::shared_ptr<Poller> installed_poller_;
  Atomic<Poller*> poller_{&sleep_poller_};
  PollTurn poll_turn_;
  Atomic<std::int64_t> last_poll_{0};
  Idle idle_;
  InjectQueue inject_;
  Atomic<std::uint64_t> foreign_spawns_{0};
  Atomic<std::uint32_t> foreign_wakes_{0};  // calls of MakeReady under way
  Atomic<bool> stopping_{false};
  Atomic<bool> stopped_{false};
  Atomic<std::uint32_t> frozen_{0};
  Atomic<bool> frozen_at_exit_{false};       // thawed at most for a wait
  Atomic<std::uint32_t> deadlock_looks_{0};  // in this idle period
  Atomic<std::uint32_t> finished_word_{0};   // moves when a task ends during shutdown
  Atomic<std::uint32_t> running_workers_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  BlockingPool blocking_pool_{this};  // the first to go: its jobs use the rest
};

}  // namespace csp::internal

#endif  // CSP_SCHED_RUNTIME_H_
