// A timer of a worker's heap, as the rooms above use it: an intrusive node, armed only when a wait
// really parks, removable from any thread.
//
// Invariants
//  1. `Fire` runs under the heap's lock, on a worker, at most once per Arm, and not after Disarm
//     returned. Whoever reaches a node therefore holds that lock: a node in a waiter's frame is
//     safe once Disarm has returned or Fire has claimed the waiter.
//  2. A disarmed timer is out of the heap at once: no dead entries.
//
// What Fire may do: claim an attempt, touch atomics, and say what shall happen once the lock has
// been released. It must not unpark, lock, allocate or run user code.
#ifndef CSP_SCHED_TIMER_H_
#define CSP_SCHED_TIMER_H_

#include <cstddef>
#include <cstdint>

#include "csp/base/atomic.h"
#include "csp/sched/parker.h"
#include "csp/sched/task_record.h"

namespace csp::internal {

class TimerHeap;

class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Puts the timer into the calling worker's heap (other threads: into one of the current
  // runtime's), due at `deadline` on csp's time line. It must not be armed.
  void Arm(std::int64_t deadline);

  // Takes it out; true if it had not fired. (A deadline of kForever is kept nowhere, but counts as
  // armed.)
  bool Disarm();

  // What the scheduler does after it has released the heap's lock.
  struct Fired {
    Parker* unpark = nullptr;
    TaskRecord* spawn = nullptr;
  };

 protected:
  virtual ~Timer() = default;
  virtual Fired Fire() noexcept = 0;

  // The heap is going away with its runtime; the timer is out of it. No lock is held.
  virtual void Orphaned() noexcept {}

  // The heap that it was armed in last is gone. A timer that can outlive its runtime must know that
  // before the next Disarm, which looks there even if it has fired; those in waiters' frames cannot.
  void Forget() { heap_ = nullptr; }

 private:
  friend class TimerHeap;
  static constexpr std::size_t kNotArmed = SIZE_MAX;

  TimerHeap* heap_ = nullptr;      // set by Arm
  std::size_t place_ = kNotArmed;  // in the heap; under its lock
  bool never_due_ = false;         // armed for kForever; owner only
};

}  // namespace csp::internal

#endif  // CSP_SCHED_TIMER_H_
