// A worker: one thread that runs fibers. What it runs next, in this order:
//
//   1. every kMaintainEvery switches: timers, the global queue, the oldest newborn, the poller
//   2. every kFavourEvery switches, in turn: the newest newborn, a fiber that has yielded
//   3. the LIFO slot: the fiber that the running one has just woken (but every kSlotBudget-th time)
//   4. other fibers, oldest first; a fiber woken out of a select is one of them (parker.h: Turn)
//   5. newborns, newest first; then fibers that have yielded, oldest first
//   6. the global queue
//   7. what others have had waiting for too long (watch.cc)
//
// The inbox, of pinned work, has every second turn before 2 to 6 and comes before 6 in the others.
//
// A fiber that suspends chooses its successor itself, on its own stack, and switches to it
// directly; the thread's own stack (`root_`) runs only where there is nothing to do.
//
// Invariants
//  1. Fields marked "owner" are touched by code running on this worker's thread only.
//  2. A fiber may be in a queue, even in another worker's hands, before it has been switched away
//     from: its context's point is null until then, and whoever wants to resume it waits for the
//     point, for a bounded time, then puts the fiber back and goes to its root. (Two workers that
//     want each other's departing fiber would otherwise wait for ever.)
//  3. After any switch the code is perhaps on another worker; the switch hands that worker over.
#ifndef CSP_SCHED_INTERNAL_WORKER_H_
#define CSP_SCHED_INTERNAL_WORKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "csp/base/cache_line.h"
#include "csp/base/random.h"
#include "csp/base/thread_context.h"
#include "csp/sched/internal/counter.h"
#include "csp/sched/internal/fiber.h"
#include "csp/sched/internal/idle.h"
#include "csp/sched/internal/inject_queue.h"
#include "csp/sched/internal/ready_queue.h"
#include "csp/sched/internal/timer_heap.h"
#include "csp/sched/record_pool.h"

namespace csp::internal {

class Runtime;

// Operations that a fiber may do without suspending before it yields.
inline constexpr int kOperationBudget = 128;

class Worker : public Switch {
 public:
  Worker(Runtime& runtime, int index);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Runtime& runtime() const { return runtime_; }
  int index() const { return index_; }

  // The thread's main function; returns when the runtime stops.
  void Run();

  // --- From the running fiber.

  // Each prepares to leave; the caller then does (switch.h) and goes on with Arrive.
  Departure Park(Fiber& self);
  // `voluntary`: the fiber has no reason to stay with its neighbours (watch.cc).
  Departure Yield(Fiber& self, bool voluntary);

  static Worker* Arrive(Context& self, Parker* parker, boost::context::detail::transfer_t transfer);

  // --- From this worker's thread.

  // `fiber` is ready. (kNext: it runs next, unless others are woken after it.)
  void Schedule(Fiber* fiber, Turn turn);
  void Spawn(TaskRecord* task);
  TimerHeap& timers() { return timers_; }
  Random& random() { return random_; }
  // csp's time as this worker last read it: at most 256 switches old, or as old as the fiber that
  // runs. For notes and dumps.
  std::int64_t CoarseNow() const { return coarse_now_.load(std::memory_order_relaxed); }

  // --- From anywhere.

  // Pinned work.
  void PushInbox(Fiber* fiber);
  void PushInbox(TaskRecord* task);
  void SummonIfIdle();

  struct Counters {
    Counter spawned, finished, parks, wakeups, steals, select_retries, timers_fired;
  };
  Counters counters;

  std::uint64_t switches() const { return ticks_.value(); }

  template <class Visit>
  void ForEachUnstarted(Visit visit) {
    ready_.ForEachNewborn(visit);
    inbox_.ForEachTask(visit);
  }
  std::size_t unstarted_count() const { return ready_.newborn_count() + inbox_.task_count(); }
  std::size_t timer_count() const { return timers_.size(); }
  // Nothing in its queues, as far as can be seen.
  bool LooksIdle() const { return inbox_.size() == 0 && ready_.LooksEmpty(); }

  // Fires the due timers of this worker's heap on `by`, which may be another worker.
  void FireTimers(Worker& by, std::int64_t now);

 private:
  friend class Runtime;

  // What another worker's queues looked like at the last look.
  struct Sighting {
    ReadyQueue::Sight ready;
    std::uint64_t ticks = 0;
    std::uint64_t yields = 0;
  };

  static constexpr std::uint32_t kMaintainEvery = 32;
  static constexpr std::uint32_t kFavourEvery = 8;
  static constexpr std::uint32_t kOldestNewbornEvery = 4096;
  static constexpr std::uint32_t kCoarseNowEvery = 256;
  static constexpr std::uint32_t kGlanceEvery = 8192;
  static constexpr int kGlanceAt = 8;  // workers at a time
  static constexpr std::uint32_t kSlotBudget = 32;
  static constexpr std::uint32_t kCachedStacks = 128;

  // worker.cc: running.
  static void FiberMain(boost::context::detail::transfer_t transfer);
  Departure Depart(Context& self, Runnable next);
  Departure LeaveFor(Fiber& self, Runnable next);
  [[noreturn]] void SwitchAway(Fiber& finished, Runnable next);
  Context& Resolve(Runnable next, void*& point);
  Context& ResolveSlow(Runnable next, void*& point);
  void* AwaitPoint(Fiber& fiber);
  Runnable Next();
  Runnable Maintain();
  Runnable TakePinned(std::uint64_t tick);
  Runnable TakeGlobal(std::size_t limit);
  void PushReady(Fiber* fiber);
  Fiber* Start(TaskRecord* task);
  void Enqueue(TaskRecord* task);
  void SpawnFired(TaskRecord* task);
  void FailTasks();
  Fiber* TakeStack(std::uint8_t stack_class);
  void KeepStack(Fiber* fiber);
  void AfterLocalPush();
  void BreakPoller();
  static Worker* RunTask(Fiber& fiber);

  // watch.cc: idle.
  Runnable FindWork();
  Runnable Watch();
  Runnable Found(Runnable work, std::int64_t now, int naps);
  bool Sleep(bool all_idle);
  void Nap(int fruitless);
  bool SeesMany() const;
  bool Quiet(std::int64_t until);
  std::int64_t NextTimer() const;
  void FireAllTimers();
  static Sighting LookAt(const Worker& other);
  void Look(Sighting* sightings);
  void GlanceAtOthers(std::int64_t now);
  Runnable StealWaiting(Sighting* sightings);
  void StealFrom(Worker& victim, const Sighting& before, ReadyQueue::Loot& loot);

  // Constant after construction.
  Runtime& runtime_;
  Idle& idle_;  // the runtime's
  const int index_;

  // Owner.
  ThreadContext* thread_ = nullptr;
  Parker* root_parker_ = nullptr;
  ExceptionState* exceptions_ = nullptr;
  Context root_;
  Context* departing_ = nullptr;      // whose point the arriving side saves
  Fiber* finished_ = nullptr;         // whose stack the arriving side keeps
  Fiber* arriving_ = nullptr;         // tells FiberMain who it is
  IntrusiveList<TaskRecord> failed_;  // no stack was to be had
  std::uint64_t last_number_ = 0;     // task numbers come in blocks
  std::uint64_t end_number_ = 0;
  Fiber* stacks_ = nullptr;  // kept for reuse, of the default class
  std::uint32_t stack_count_ = 0;
  RecordCache records_;
  Random random_;
  std::unique_ptr<Sighting[]> sightings_;
  std::int64_t found_work_at_ = 0;  // when it last watched with success; `sightings_` are from then
  int naps_ = 0;                    // how many it took
  std::int64_t last_glance_ = 0;
  int next_glance_ = 0;  // at which worker it begins
  Atomic<std::int64_t> coarse_now_{0};

  // Shared.
  alignas(kCacheLine) Counter ticks_;  // switches; thieves watch it stand still
  Counter yields_;
  Idle::Seat seat_;
  ReadyQueue ready_;
  InjectQueue inbox_;
  TimerHeap timers_;
};

inline void Worker::Schedule(Fiber* fiber, Turn turn) {
  counters.wakeups.Add();
  if (fiber->home != nullptr) [[unlikely]] {
    fiber->home->PushInbox(fiber);
    return;
  }
  if (turn == Turn::kNext) {
    ready_.PushNext(fiber);
  } else {
    ready_.PushBack(fiber);
  }
  AfterLocalPush();
}

inline void Worker::AfterLocalPush() {
  if (idle_.WakeAfterLocalPush()) [[unlikely]] {
    BreakPoller();
  }
}

inline Context& Worker::Resolve(Runnable next, void*& point) {
  if (next.fiber != nullptr) [[likely]] {
    // Pairs with the release in Arrive.
    point = next.fiber->context.point.load(std::memory_order_acquire);
    if (point != nullptr) [[likely]] {
      return next.fiber->context;
    }
  }
  return ResolveSlow(next, point);
}

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_WORKER_H_
