// What every blocking verb does on entry, and what cancellation means to it.
//
// A blocking call in a cancelled fiber throws Cancelled, at once and every time, except under a
// Shield and while the stack unwinds for another exception. The call either has done nothing then,
// or it has happened and returns: commit beats cancel.
#ifndef CSP_SELECT_BLOCKING_H_
#define CSP_SELECT_BLOCKING_H_

#include <cstddef>
#include <cstdint>

#include "csp/base/atomic.h"
#include "csp/base/thread_context.h"
#include "csp/sched/parker.h"
#include "csp/select/attempt.h"
#include "csp/select/shield.h"  // IWYU pragma: export

namespace csp::internal {

// True if the calling fiber's waits take no notice of cancellation just now.
bool Shielded(const Parker& parker);

// Throws Cancelled if `parker`, the caller, is cancelled and not shielded. From the second throw in
// one task on it yields first, so that a loop which swallows everything does not hold its worker;
// such a task is named once in a warning. What calls this is named, too, if the exception ends the
// process.
void ThrowIfCancelled(Parker& parker);

// The budget is spent: yields.
void YieldForBudget();

// Whether something has cancelled `parker`, the caller; shielded or not.
inline bool IsCancelled(const Parker& parker) {
  return SaysCancelled(parker.words.cancel.load(std::memory_order_relaxed));
}

// Entry of a blocking verb that looks by itself whether the caller is cancelled; returns the caller.
inline Parker* EnterUntold() {
  ThreadContext* thread = CurrentThread();
  if (--thread->budget < 0) [[unlikely]] {
    YieldForBudget();
    thread = CurrentThread();
  }
  Parker* parker = thread->parker;
  if (parker == nullptr) [[unlikely]] {
    parker = Parker::Current();
  }
  return parker;
}

// Entry of a blocking verb; returns the caller. Throws Cancelled.
inline Parker* EnterBlocking() {
  Parker* parker = EnterUntold();
  if (IsCancelled(*parker)) [[unlikely]] {
    ThrowIfCancelled(*parker);
  }
  return parker;
}

// Cancels what runs on `parker` if it still is task `number`: sets the flag, and ends a cancellable
// wait in progress. From any thread. False, and nothing happens, if the task has ended or was
// cancelled before.
bool CancelParker(Parker& parker, std::uint64_t number);

// The same for many, which share the heavy barriers that it takes. The flag is set at once; a wait
// in progress ends by the end of the object's life. (By then the parker may wait for something
// else, which nobody has cancelled: such a wait is ended, finds its flag unset, and begins anew.)
class CancelSweep {
 public:
  // Pairs with FiberPool::Trim.
  CancelSweep() { cancellers.fetch_add(1, std::memory_order_acq_rel); }
  ~CancelSweep() {
    Flush();
    cancellers.fetch_sub(1, std::memory_order_release);
  }
  CancelSweep(const CancelSweep&) = delete;
  CancelSweep& operator=(const CancelSweep&) = delete;

  // With no lock held.
  bool Cancel(Parker& parker, std::uint64_t number);

  // Under the lock of a CancelSignal, for a parker that is bound to it: sets the flag, and leaves
  // the rest to Flush. There must be room.
  void Mark(Parker& parker);
  bool full() const { return count_ == kRoom; }

  // Ends the waits of all that have been marked. With no lock held; never suspends.
  void Flush();

 private:
  static constexpr std::size_t kRoom = kModelled ? 2 : 64;

  Parker* marked_[kRoom];
  std::size_t count_ = 0;
};

}  // namespace csp::internal

#endif  // CSP_SELECT_BLOCKING_H_
