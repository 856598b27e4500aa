// A timer that starts a task when it fires: what AfterFunc is made of, and a deadline of csp/cancel.
//
// Invariants
//  1. References: each owner's, one while the timer is armed, one for each run that is owed.
//  2. `runs_` counts the runs owed. The record is queued or at work exactly while it is not 0: Fire
//     queues it at 0 -> 1, and its end queues it again if more are owed. So runs never overlap.
//  3. `mu_` guards arming and disarming. The heap that the timer was armed in last may be gone with
//     its runtime: it is touched only where that cannot end meanwhile (WithHeap), and forgotten if
//     it has. A heap that goes away drops the reference of what is armed in it (Orphaned).
#ifndef CSP_TIME_INTERNAL_TIMED_TASK_H_
#define CSP_TIME_INTERNAL_TIMED_TASK_H_

#include <cstdint>

#include "csp/base/atomic.h"
#include "csp/base/spinlock.h"
#include "csp/sched/task_record.h"
#include "csp/sched/timer.h"

namespace csp::internal {

class TimedTask : public Timer, public TaskRecord {
 public:
  // Runs it at `deadline`, in the current runtime, whatever has been before. True: it was armed,
  // and will not run for that. Throws std::bad_alloc and is stopped then; RuntimeError.
  bool Start(std::int64_t deadline);

  // True: it was armed, and will not run for that. False: it has run, or is about to. Never
  // suspends.
  bool Stop();

  // The last handle is gone: what waits for Reset alone never runs. Gives up its reference.
  void HandlesGone();

  void AddReference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  // The caller gets the first reference. `name` is constant.
  TimedTask(const char* name, const void* spawn_site);
  ~TimedTask() override = default;

  // The derived class's Finished: the run is over. May destroy the object.
  void EndRun() noexcept;

 private:
  template <class F>
  bool WithHeap(F use);
  bool HomeStays() const;

  Fired Fire() noexcept final;
  void Orphaned() noexcept final;

  Atomic<std::uint32_t> references_{1};
  Atomic<std::uint32_t> runs_{0};
  SpinLock mu_{LockRank::kObject};
  std::uint64_t home_ = 0;        // the number of the runtime that it was armed in last
  bool armed_for_never_ = false;  // that time
};

}  // namespace csp::internal

#endif  // CSP_TIME_INTERNAL_TIMED_TASK_H_
