#include "csp/sched/runtime.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "csp/base/panic.h"
#include "csp/sched/internal/cpu_count.h"
#include "csp/sched/internal/deadlock.h"
#include "csp/sched/internal/fiber_pool.h"
#include "csp/sched/internal/futex.h"
#include "csp/sched/internal/overflow_report.h"
#include "csp/sched/internal/runtimes.h"
#include "csp/sched/internal/sanitizer.h"
#include "csp/sched/internal/worker.h"
#include "csp/sched/record_pool.h"

namespace csp::internal {
namespace {

// How long everything must have been idle before it is called a deadlock.
constexpr absl::Duration kDeadlockDelay = absl::Milliseconds(100);
// Looked for again after ten times as long, so many times longer at most; and not after a report.
constexpr std::uint32_t kDeadlockDelays = 5;
constexpr std::uint32_t kDeadlockReported = UINT32_MAX;

// A busy worker polls at most this often.
constexpr std::int64_t kPollEveryNanos = 200'000;

// Free stacks kept warm in each size when the program is idle.
constexpr std::size_t kWarmStacks = 1024;

constinit Atomic<std::uint64_t> next_number{0};
constinit Atomic<std::uint64_t> runtimes_made{0};
constinit Atomic<bool> forked_child{false};
constinit Atomic<int> exiting_thread{0};   // runs the destructors of static objects
constinit Atomic<int> deadlock_checks{0};  // that have been made since a thread last parked

struct DefaultRuntime {
  std::mutex mu;
  Atomic<Runtime*> runtime{nullptr};
};

DefaultRuntime& TheDefault() {
  static DefaultRuntime* state = new DefaultRuntime;
  return *state;
}

// Before main: the threads that are there now are not ours.
[[maybe_unused]] const bool noted_baseline = [] {
  NoteBaselineThreads();
  return true;
}();

void PrepareProcess(void (*at_exit)()) {
  static std::once_flag once;
  std::call_once(once, [at_exit] {
    InstallOverflowReport();
    std::atexit(at_exit);
    pthread_atfork(nullptr, nullptr, [] {
      forked_child.store(true, std::memory_order_relaxed);
      CurrentThread()->budget = 0;  // so that the next blocking verb takes notice (blocking.cc)
    });
  });
}

}  // namespace

Runtime::Runtime(const RuntimeConfig& config)
    : number_(runtimes_made.fetch_add(1, std::memory_order_relaxed) + 1),
      config_(config),
      default_stack_class_(StackClassFor(config.stack_size)) {
  PrepareProcess(&FreezeAll);
  const int count = config.workers > 0 ? config.workers : UsableCpus();
  for (int i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>(*this, i));
  RegisterRuntime(this);
  AddClockListener(this);
  try {
    StartWorkers();
  } catch (...) {
    RemoveClockListener(this);
    UnregisterRuntime(this);
    throw;
  }
}

void Runtime::StartWorkers() {
  const int count = worker_count();
  try {
    for (int i = 0; i < count; ++i) {
      running_workers_.fetch_add(1, std::memory_order_relaxed);
      threads_.emplace_back([this, i] { RunWorker(i); });
    }
  } catch (const std::exception& e) {
    running_workers_.fetch_sub(1, std::memory_order_relaxed);  // the one that did not come
    Stop(std::chrono::steady_clock::time_point::max());
    throw RuntimeError(std::string(config_.call) + ": only " + std::to_string(threads_.size()) +
                       " of " + std::to_string(count) + " worker threads could be started (" +
                       e.what() +
                       "); give fewer RunOptions::workers, or raise RLIMIT_NPROC (ulimit -u), the "
                       "cgroup's pids.max or kernel.threads-max");
  }
}

Runtime::~Runtime() {
  // Whoever woke a fiber counted itself before: the fiber has run since, so all are counted.
  while (foreign_wakes_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  // Before it leaves the registry, which keeps the heaps for whoever else disarms (after_func.cc).
  for (const auto& worker : workers_) worker->timers().Orphan();
  poller().RuntimeEnds();
  UnregisterRuntime(this);
  RemoveClockListener(this);
}

void Runtime::RunWorker(int index) {
  const std::string name = "csp-worker-" + std::to_string(index);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  worker(index).Run();
  running_workers_.fetch_sub(1, std::memory_order_acq_rel);
}

Runtime& Runtime::Default() {
  DefaultRuntime& state = TheDefault();
  if (Runtime* runtime = state.runtime.load(std::memory_order_acquire)) return *runtime;
  const std::lock_guard lock(state.mu);
  if (state.runtime.load(std::memory_order_relaxed) == nullptr) {
    auto* runtime = new Runtime(RuntimeConfig{});
    state.runtime.store(runtime, std::memory_order_release);
    // Once more: what has come since PrepareProcess is younger than the handler there.
    std::atexit([] {
      FreezeAll();
      if (kTsan) DefaultIfStarted()->blocking_pool().JoinEnded();
    });
  }
  return *state.runtime.load(std::memory_order_relaxed);
}

Runtime* Runtime::DefaultIfStarted() {
  return TheDefault().runtime.load(std::memory_order_acquire);
}

Runtime* Runtime::OfCaller() {
  const ThreadContext* thread = CurrentThread();
  return thread->worker != nullptr ? &thread->worker->runtime() : thread->runtime;
}

Runtime& Runtime::Current() {
  Runtime* runtime = OfCaller();
  return runtime != nullptr ? *runtime : Default();
}

void Runtime::CheckNotForked() {
  if (forked_child.load(std::memory_order_relaxed)) {
    throw RuntimeError("a forked child has none of csp's threads; it may only exec or _exit");
  }
}

void Runtime::Spawn(TaskRecord* task) {
  if (stopping()) {
    throw RuntimeError(
        "Go: this runtime is shutting down; start no tasks after Run's main function "
        "has returned or Shutdown was called");
  }
  CheckNotForked();
  Worker* worker = CurrentThread()->worker;
  if (worker != nullptr && &worker->runtime() == this) {
    worker->Spawn(task);
    return;
  }
  task->number = TakeNumbers(1) + 1;
  foreign_spawns_.fetch_add(1, std::memory_order_relaxed);
  if (task->pinned) {
    this->worker(static_cast<int>(task->number % workers_.size())).PushInbox(task);
    return;
  }
  inject_.Push(task);
  if (idle_.WakeAfterForeignPush()) poller().Break();
}

// The fiber may be the runtime's last, and end before this call does: the runtime waits for it.
void Runtime::MakeReady(Fiber* fiber) {
  foreign_wakes_.fetch_add(1, std::memory_order_relaxed);
  if (fiber->home != nullptr) {
    fiber->home->PushInbox(fiber);
  } else {
    inject_.Push(fiber);
    if (idle_.WakeAfterForeignPush()) poller().Break();
  }
  foreign_wakes_.fetch_sub(1, std::memory_order_release);  // the last touch
}

std::uint64_t Runtime::TakeNumbers(std::uint64_t count) {
  return next_number.fetch_add(count, std::memory_order_relaxed);
}

// --- Shutdown.

void Runtime::BeginShutdown() {
  stopping_.store(true, std::memory_order_seq_cst);
  HeavyBarrier();  // pairs with the light one of SpawnFired
}

std::uint64_t Runtime::live_tasks() const {
  // What has finished is read first: the difference may only be too large. (A counter shows what
  // happened before it: so whoever sees that a task has finished sees that it was spawned.)
  std::uint64_t finished = 0;
  for (const auto& worker : workers_) finished += worker->counters.finished.value();
  std::uint64_t spawned = foreign_spawns_.load(std::memory_order_seq_cst);
  for (const auto& worker : workers_) spawned += worker->counters.spawned.value();
  return spawned - finished;
}

void Runtime::NoteFinished() {
  finished_word_.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(finished_word_);
}

bool Runtime::AwaitDrained(std::chrono::steady_clock::time_point until) {
  for (;;) {
    const std::uint32_t seen = finished_word_.load(std::memory_order_seq_cst);
    if (live_tasks() == 0) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    FutexWaitFor(finished_word_, seen, 1'000'000);
  }
}

bool Runtime::Stop(std::chrono::steady_clock::time_point until) {
  stopped_.store(true, std::memory_order_seq_cst);
  while (running_workers_.load(std::memory_order_acquire) != 0) {
    poller().Break();
    while (Idle::Seat* seat = idle_.PopParked()) Call(*seat);
    if (std::chrono::steady_clock::now() >= until) {
      for (std::thread& thread : threads_) thread.detach();
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  for (std::thread& thread : threads_) thread.join();
  return true;
}

void Runtime::ForEachUnstarted(const std::function<bool(const TaskRecord&)>& visit) {
  inject_.ForEachTask(visit);
  for (const auto& worker : workers_) worker->ForEachUnstarted(visit);
}

std::size_t Runtime::unstarted_count() const {
  std::size_t count = inject_.task_count();
  for (const auto& worker : workers_) count += worker->unstarted_count();
  return count;
}

void Runtime::InstallPoller(std::shared_ptr<Poller> poller) {
  installed_poller_ = std::move(poller);
  poller_.store(installed_poller_.get(), std::memory_order_release);
  sleep_poller_.Break();  // whoever sleeps there goes on sleeping in the new one
}

RuntimeStats Runtime::stats() const {
  RuntimeStats stats;
  stats.workers = worker_count();
  stats.tasks_spawned = foreign_spawns_.load(std::memory_order_relaxed);
  for (const auto& worker : workers_) {
    const Worker::Counters& counters = worker->counters;
    stats.tasks_spawned += counters.spawned.value();
    stats.tasks_finished += counters.finished.value();
    stats.switches += worker->switches();
    stats.parks += counters.parks.value();
    stats.wakeups += counters.wakeups.value();
    stats.steals += counters.steals.value();
    stats.select_retries += counters.select_retries.value();
    stats.timers_fired += counters.timers_fired.value();
    stats.timers += worker->timer_count();
  }
  const FiberPool::Counts stacks = FiberPool::Get().counts();
  stats.stacks_mapped = stacks.mapped;
  stats.stacks_hot = stacks.hot;
  return stats;
}

// --- Sleeping.

// On a worker. A static object's destructor that waits on a fiber, which called exit, would be the
// first to be frozen: then all go on.
void Runtime::Freeze() {
  if (exiting_thread.load() == gettid()) {
    Thaw();
    return;
  }
  while (frozen()) FutexWait(frozen_, 1, kForever);
}

// Destructors of static objects that are older than this must not meet running fibers.
void Runtime::FreezeAll() {
  exiting_thread.store(gettid());
  ForEachRuntime([](Runtime& runtime) {
    runtime.frozen_at_exit_.store(true);
    runtime.frozen_.store(1);
  });
}

void Runtime::Thaw() {
  ForEachRuntime([](Runtime& runtime) {
    if (runtime.frozen_.exchange(0) != 0) FutexWakeAll(runtime.frozen_);
  });
}

// What the destructor waits for may need the workers; what else runs meanwhile may use objects that
// are gone, but a process that hangs at its end is worse.
bool Runtime::ThawForWait() {
  if (exiting_thread.load() == 0 || exiting_thread.load() != gettid()) return false;
  Thaw();
  return true;
}

// A runtime that has come in the meantime is the destructor's own.
void Runtime::FreezeAgain() {
  ForEachRuntime([](Runtime& runtime) {
    if (runtime.frozen_at_exit_.load()) runtime.frozen_.store(1);
  });
}

void Runtime::Call(Idle::Seat& seat) {
  seat.called.store(1, std::memory_order_release);
  FutexWake(seat.called);
}

void Runtime::AwaitCall(Idle::Seat& seat) {
  while (seat.called.load(std::memory_order_acquire) == 0) {
    if (frozen()) Freeze();
    FutexWait(seat.called, 0, kForever);
  }
}

void Runtime::Poll(std::int64_t until) {
  if (!poll_turn_.Sleep(idle_, poller_, until)) std::this_thread::yield();
}

void Runtime::PollNow(std::int64_t now) {
  // (A clock that does not run says nothing about how long it was.)
  if (now - last_poll_.load(std::memory_order_relaxed) < kPollEveryNanos && CurrentClock().Runs()) {
    return;
  }
  last_poll_.store(now, std::memory_order_relaxed);
  poll_turn_.Look(poller_);
}

// Breaks in any case: a nap that has not begun does not look at the time.
void Runtime::ClockMoved() {
  FullBarrier();  // the clock's time, then the level; pairs with MaySleep's
  idle_.WakeAfterForeignPush();
  poller().Break();
}

void Runtime::NoteThreadParks() {
  if (deadlock_checks.load(std::memory_order_seq_cst) == 0) return;
  deadlock_checks.store(0, std::memory_order_seq_cst);
  ForEachRuntime([](Runtime& runtime) {
    if (runtime.deadlock_looks_.exchange(0, std::memory_order_seq_cst) != 0 &&
        runtime.idle_.WakeAfterForeignPush()) {
      runtime.poller().Break();
    }
  });
}

void Runtime::Nap(std::int64_t until) {
  if (CurrentClock().Runs()) {
    Poll(until);
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(20));  // virtual time would never end it
  }
}

void Runtime::SleepUntil(std::int64_t until, bool all_idle) {
  if (!all_idle) {
    // The last of the others may go idle without a word; then there are things to look after.
    Poll(std::min(until, DeadlineAfter(NowNanos(), kDeadlockDelay)));
    return;
  }
  // Nothing to do: a good time to tidy up, a little at a time.
  if (FiberPool::Get().Trim(kWarmStacks, 64) + TrimRecords(64) != 0) return;
  if (until != kForever || poller().HasSources() || live_tasks() == 0 ||
      deadlock_looks_.load(std::memory_order_relaxed) == kDeadlockReported ||
      !CurrentClock().Runs()) {
    Poll(until);
  } else {
    SleepAndLookForDeadlock();
  }
}

// Perhaps for ever. What could act may be a thread that csp does not know, whose end nobody tells,
// so it is looked again, after ever longer times, until somebody acts.
void Runtime::SleepAndLookForDeadlock() {
  const std::uint32_t looks = deadlock_looks_.load(std::memory_order_relaxed);
  absl::Duration delay = kDeadlockDelay;
  for (std::uint32_t i = 1; i < std::min(looks + 1, kDeadlockDelays); ++i) delay *= 10;
  const std::int64_t look_at = DeadlineAfter(NowNanos(), delay);
  Poll(look_at);
  if (idle_.roused() || NowNanos() < look_at) return;
  deadlock_looks_.store(looks + 1, std::memory_order_seq_cst);
  deadlock_checks.fetch_add(1, std::memory_order_seq_cst);
  if (!EverythingWaits()) return;
  deadlock_looks_.store(kDeadlockReported, std::memory_order_relaxed);
  const std::string report = DeadlockReport();
  if (config_.on_deadlock) {
    config_.on_deadlock(report);
  } else {
    std::fputs(report.c_str(), stderr);
    std::abort();
  }
}

}  // namespace csp::internal
