// What one worker has ready to run: the LIFO slot, the started fibers, the newborn tasks.
//
// The owner works on it between any two fibers, thieves come once in some ten microseconds at the
// most. So it is plain lists under an OwnedLock: the owner pays two stores and a load, no locked
// instruction, and the lists know no limit.
//
//   slot       the fiber that the running one woken last: it runs next, while the cache is warm
//   fibers     first in, first out
//   yielded    fibers that gave way by themselves, behind all others; now and then one of them goes
//              first, so that they are not starved by fibers that wake each other
//   newborns   tasks that have not started. The owner starts the newest: depth first, so that a
//              tree of tasks needs as many stacks as it is deep. Thieves take the oldest, which in
//              a tree is the largest.
//
// Invariants
//  1. All lists and counters are written under `lock_`; the atomics among them are read without it
//     as hints, and by a watcher that has announced its sleep and then executed a heavy barrier.
//  2. `pushed_` and `popped_` count fibers that ever were in the list; the one pushed as number n
//     is still there iff n > popped_. A thief remembers numbers, not fibers.
//
// Rejected: a lock-free ring (Go, tokio). Its owner pays a compare-and-swap a switch, a slot pays
// two exchanges, and a bounded ring needs an overflow path: with them a ping-pong over channels
// took 134 ns instead of 88 on the machine of docs/scheduler.md.
#ifndef CSP_SCHED_INTERNAL_READY_QUEUE_H_
#define CSP_SCHED_INTERNAL_READY_QUEUE_H_

#include <cstddef>
#include <cstdint>

#include "csp/base/asymmetric.h"
#include "csp/base/cache_line.h"
#include "csp/sched/internal/counter.h"
#include "csp/sched/internal/fiber_list.h"
#include "csp/sched/internal/newborn_list.h"
#include "csp/sched/task_record.h"

namespace csp::internal {

// What to run next: a started fiber, or a task that needs one, or nothing.
struct Runnable {
  Fiber* fiber = nullptr;
  TaskRecord* task = nullptr;
  explicit operator bool() const { return fiber != nullptr || task != nullptr; }
};

class ReadyQueue {
 public:
  // --- Owner.

  // `fiber` runs next; who was to run next is pushed behind the others.
  void PushNext(Fiber* fiber) {
    lock_.EnterAsOwner();
    if (Fiber* previous = slot_.load(std::memory_order_relaxed)) Append(previous);
    slot_.store(fiber, std::memory_order_relaxed);
    lock_.LeaveAsOwner();
  }

  void PushBack(Fiber* fiber) {
    lock_.EnterAsOwner();
    Append(fiber);
    lock_.LeaveAsOwner();
  }

  // `fiber` gives way by itself.
  void PushYielded(Fiber* fiber) {
    lock_.EnterAsOwner();
    yielded_.PushBack(fiber);
    yielded_count_.store(yielded_count() + 1, std::memory_order_relaxed);
    lock_.LeaveAsOwner();
  }

  void PushNewborn(TaskRecord* task) {
    lock_.EnterAsOwner();
    newborns_.PushBack(task);
    NoteNewborns();
    lock_.LeaveAsOwner();
  }

  // Whose turn it is for once, before its usual place in the order.
  enum class Favour { kNone, kNewborn, kYielded };

  // The next to run. `slot_last`: the slot has had its share of turns.
  Runnable Pop(Favour favour, bool slot_last) {
    lock_.EnterAsOwner();
    const Runnable next = PopLocked(favour, slot_last);
    lock_.LeaveAsOwner();
    return next;
  }

  TaskRecord* PopOldestNewborn() {
    lock_.EnterAsOwner();
    TaskRecord* task = newborns_.PopFront();
    if (task != nullptr) NoteNewborns();
    lock_.LeaveAsOwner();
    return task;
  }

  // Takes over what a thief has brought home.
  struct Loot {
    FiberList fibers;
    NewbornList::Batch newborns;
    std::size_t count = 0;  // of both
  };
  void Add(Loot& loot);

  // --- Anybody.

  // A look without the lock; what it says may be over at once.
  struct Sight {
    std::uint64_t pushed = 0;
    std::uint64_t popped = 0;
    const Fiber* slot = nullptr;
    std::uint64_t oldest_newborn = 0;  // its number, 0 if there is none
  };
  Sight Look() const {
    return {pushed_.value(), popped_.value(), slot_.load(std::memory_order_relaxed),
            oldest_newborn_.load(std::memory_order_relaxed)};
  }
  bool LooksEmpty() const {
    return slot_.load(std::memory_order_seq_cst) == nullptr && pushed_.value() == popped_.value() &&
           newborn_count() == 0 && yielded_count() == 0;
  }

  // Takes up to half of what was there at `before` and still is: the slot if `slot_too`, else
  // fibers, else newborns.
  void StealSince(const Sight& before, bool slot_too, Loot& loot);
  // Takes up to half of the fibers that gave way by themselves.
  void StealYielded(Loot& loot);
  std::size_t yielded_count() const { return yielded_count_.load(std::memory_order_relaxed); }

  std::size_t newborn_count() const { return newborn_count_.load(std::memory_order_relaxed); }

  // Calls `visit` with each newborn, under the lock, until it says false.
  template <class Visit>
  void ForEachNewborn(Visit visit) {
    lock_.EnterAsVisitor();
    newborns_.ForEach(visit);
    lock_.LeaveAsVisitor();
  }

 private:
  // The most fibers that a thief takes at a time: it walks the list under the lock.
  static constexpr std::uint64_t kMostLoot = 128;

  void Append(Fiber* fiber) {
    fibers_.PushBack(fiber);
    pushed_.Add();
  }
  Fiber* TakeFirst() {
    Fiber* fiber = fibers_.PopFront();
    if (fiber != nullptr) popped_.Add();
    return fiber;
  }
  TaskRecord* TakeNewest() {
    TaskRecord* task = newborns_.PopBack();
    if (task != nullptr) NoteNewborns();
    return task;
  }
  void NoteNewborns() {
    newborn_count_.store(newborns_.size(), std::memory_order_relaxed);
    // Its number, not its address: the next task may have the same.
    const TaskRecord* oldest = newborns_.oldest();
    oldest_newborn_.store(oldest == nullptr ? 0 : oldest->number, std::memory_order_relaxed);
  }

  Fiber* TakeYielded() {
    Fiber* fiber = yielded_.PopFront();
    if (fiber != nullptr) yielded_count_.store(yielded_count() - 1, std::memory_order_relaxed);
    return fiber;
  }

  Runnable PopLocked(Favour favour, bool slot_last) {
    if (favour == Favour::kNewborn) {
      if (TaskRecord* task = TakeNewest()) return {nullptr, task};
    } else if (favour == Favour::kYielded) {
      if (Fiber* fiber = TakeYielded()) return {fiber, nullptr};
    }
    if (Fiber* fiber = slot_.load(std::memory_order_relaxed)) {
      // In both places rather than in none: nobody tells a watcher of what only moves, so it must
      // see it at each moment. Release: LooksEmpty, if it finds the slot empty, finds it counted.
      if (slot_last) Append(fiber);
      slot_.store(nullptr, std::memory_order_release);
      if (!slot_last) return {fiber, nullptr};
    }
    if (Fiber* fiber = TakeFirst()) return {fiber, nullptr};
    if (TaskRecord* task = TakeNewest()) return {nullptr, task};
    return {TakeYielded(), nullptr};
  }

  void TakeFibers(std::uint64_t waiting, Loot& loot);

  alignas(kCacheLine) OwnedLock lock_;
  Atomic<Fiber*> slot_{nullptr};
  FiberList fibers_;
  FiberList yielded_;
  Atomic<std::size_t> yielded_count_{0};
  Counter pushed_;
  Counter popped_;
  NewbornList newborns_;
  Atomic<std::size_t> newborn_count_{0};
  Atomic<std::uint64_t> oldest_newborn_{0};
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_READY_QUEUE_H_
