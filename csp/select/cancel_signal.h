// What a blocking call sees of cancellation beyond its own task's: a signal, and fibers bound to it.
//
// csp/cancel makes a tree of signals, with causes and deadlines; here is only what must be known to
// end a wait. A fiber, or a plain thread, is bound to a signal by a CancelBinding on its stack.
// While the signal is set, each blocking call of whoever is bound throws Cancelled. Bindings nest.
//
// Invariants
//  1. A binding is linked, under the signal's lock, unless the signal was set before. Setting the
//     signal sets the mark first, then, under the lock, unlinks each binding and sets
//     kScopeCancelled in the cancel word of its parker (CancelSweep::Mark). So a binding that is
//     linked belongs to a parker that is still bound.
//  2. After the destructor has had the lock, nobody sets the bit for that binding's sake: unbinding
//     is exact. A wait ended later for its sake finds the flag unset and begins anew.
//  3. The bit is the parker's, and stands for all its bindings: who leaves one clears it, and sets
//     it again if an outer signal is set. An outer canceller whose bit was cleared had set its
//     mark before: the clearing is a read-modify-write, so it sees what came before the bit.
//
// Lock: `mu_` guards the list of bindings, and what the derived class adds. It is held for a few
// instructions, with no other object's.
#ifndef CSP_SELECT_CANCEL_SIGNAL_H_
#define CSP_SELECT_CANCEL_SIGNAL_H_

#include <cstdint>

#include "csp/base/intrusive_list.h"
#include "csp/base/spinlock.h"
#include "csp/sched/parker.h"
#include "csp/select/blocking.h"
#include "csp/select/summary.h"

namespace csp::internal {

class CancelBinding;

class CancelSignal {
 public:
  static constexpr std::uint64_t kDone = 1;

  CancelSignal() = default;
  CancelSignal(const CancelSignal&) = delete;
  CancelSignal& operator=(const CancelSignal&) = delete;

  // Stays true. What came before it was set is visible to who has seen it.
  bool done() const { return (summary_.Read() & kDone) != 0; }
  const Summary& summary() const { return summary_; }

 protected:
  ~CancelSignal() = default;

  // Under `mu_`. Sets the mark; from here on nobody links a binding.
  void SetDone() { summary_.Set(kDone); }
  // Under `mu_`, after SetDone. False: `sweep` is full, flush it outside of the lock and call again.
  bool MarkBound(CancelSweep& sweep);

  SpinLock mu_{LockRank::kObject};

 private:
  friend class CancelBinding;

  Summary summary_;  // written under mu_
  IntrusiveList<CancelBinding> bound_;
};

// On the stack of whoever is bound; strictly nested. The signal outlives it.
class CancelBinding : public ListNode<CancelBinding> {
 public:
  // Binds `self`, the caller. Never suspends, never throws.
  CancelBinding(CancelSignal& signal, Parker* self);
  ~CancelBinding();
  CancelBinding(const CancelBinding&) = delete;
  CancelBinding& operator=(const CancelBinding&) = delete;

  CancelSignal& signal() const { return signal_; }

 private:
  friend class CancelSignal;

  bool AnOuterSignalIsSet() const;

  CancelSignal& signal_;
  Parker* const self_;
  CancelBinding* const outer_;
  const std::uint32_t throws_;  // how often the task had been told before
};

}  // namespace csp::internal

#endif  // CSP_SELECT_CANCEL_SIGNAL_H_
