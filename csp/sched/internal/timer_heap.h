// One worker's timers: a 4-ary heap, under a lock of its own, since any thread may disarm and an
// idle worker fires those of busy ones.
//
// Invariants
//  1. For each armed timer, entries_[timer.place_].timer == &timer.
//  2. `next_` is the earliest deadline in the heap, kForever when empty; written under the lock,
//     read without it as a hint. A reader that is too late by one store sees a timer at its next
//     look; a sleeper re-reads after announcing its sleep (idle.h).
//
// Deadlines stand in the entries, so that sifting touches no timer but to tell it its place.
#ifndef CSP_SCHED_INTERNAL_TIMER_HEAP_H_
#define CSP_SCHED_INTERNAL_TIMER_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csp/base/cache_line.h"
#include "csp/base/clock.h"
#include "csp/base/spinlock.h"
#include "csp/sched/timer.h"

namespace csp::internal {

class TimerHeap {
 public:
  TimerHeap() { entries_.reserve(kFirstCapacity); }

  // True if this is now the earliest. The array grows outside the lock, by doubling, and does not
  // shrink; throws std::bad_alloc with nothing changed.
  bool Add(Timer& timer, std::int64_t deadline);

  // True if the timer was still armed.
  bool Remove(Timer& timer);

  // Fires what is due at `now`, at most `limit` timers; what is to be done about each goes to `out`
  // (nothing, if it comes too late for its wait). Returns how many it was.
  std::size_t FireDue(std::int64_t now, Timer::Fired* out, std::size_t limit);

  // At the runtime's end, when nobody fires any more: tells those who are left that it is over.
  void Orphan();

  std::int64_t next() const { return next_.load(std::memory_order_seq_cst); }
  std::int64_t next_hint() const { return next_.load(std::memory_order_relaxed); }
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::int64_t deadline;
    Timer* timer;
  };
  static constexpr std::size_t kArity = 4;
  static constexpr std::size_t kFirstCapacity = 64;

  bool AddAndGrow(Timer& timer, std::int64_t deadline);
  bool Insert(Timer& timer, std::int64_t deadline);
  void Place(std::size_t at, const Entry& entry);
  void SiftUp(std::size_t at, Entry entry);
  void SiftDown(std::size_t at, Entry entry);
  void Erase(std::size_t at);
  void Publish();

  alignas(kCacheLine) SpinLock mu_{LockRank::kTimers};
  std::vector<Entry> entries_;
  Atomic<std::int64_t> next_{kForever};
  Atomic<std::size_t> size_{0};
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_TIMER_HEAP_H_
