// Who waits for an object: its waiters, first come first served. Guarded by the object's lock.
//
// A list may hold waiters whose wait has been decided elsewhere; they count for nothing and are
// dropped as they are met, or leave by themselves (Case::Disarm).
#ifndef CSP_SELECT_WAIT_LIST_H_
#define CSP_SELECT_WAIT_LIST_H_

#include "csp/base/leaning_lock.h"
#include "csp/select/waiter.h"

namespace csp {

// The lock of an object that can be waited for. (Another one does as well, if it is held for a few
// instructions at a time: std::mutex.) In debug builds it checks that nobody holds two.
using ObjectLock = internal::LeaningLock;

class WaitList {
 public:
  void PushBack(Waiter& waiter) { waiters_.PushBack(&waiter); }
  // For one who has waited before and came too late.
  void PushFront(Waiter& waiter) { waiters_.PushFront(&waiter); }
  void Remove(Waiter& waiter) { waiters_.Remove(&waiter); }

  // Unlinks and returns the first waiter whose wait this call decides; drops the decided ones
  // before it. Null if nobody is left. The caller owes the returned one a Wake.
  Waiter* PopClaimed() {
    while (Waiter* waiter = waiters_.PopFront()) {
      if (waiter->TryClaim()) return waiter;
    }
    return nullptr;
  }

  // True if somebody other than `self` waits here undecided.
  bool HasRival(const internal::Parker* self) const {
    for (const Waiter* waiter = waiters_.front(); waiter != nullptr;
         waiter = internal::IntrusiveList<Waiter>::Next(waiter)) {
      if (!waiter->SameWait(self) && waiter->StillWaits()) return true;
    }
    return false;
  }

  // Whose turn it is, perhaps decided by now; null if nobody waits.
  Waiter* front() const { return waiters_.front(); }

  bool empty() const { return waiters_.empty(); }

 private:
  internal::IntrusiveList<Waiter> waiters_;
};

// Waiters claimed under a lock and to be woken after it: the object's Close or Set fills it. (Not
// linked by the waiters' nodes: a waiter that is linked is one that its object has not decided.)
class WakeList {
 public:
  WakeList() = default;
  WakeList(const WakeList&) = delete;
  WakeList& operator=(const WakeList&) = delete;

  // Claims all who wait in `list`; each reads `ok`.
  void Claim(WaitList& list, bool ok) {
    while (Waiter* waiter = list.PopClaimed()) {
      waiter->ok = ok;
      Add(*waiter);
    }
  }

  // Adds one that the caller has claimed and unlinked.
  void Add(Waiter& waiter) {
    waiter.next_to_wake_ = nullptr;
    *end_ = &waiter;
    end_ = &waiter.next_to_wake_;
  }

  bool empty() const { return first_ == nullptr; }

  // Call with no lock held.
  void WakeAll() {
    for (Waiter* waiter = first_; waiter != nullptr;) {
      Waiter* next = waiter->next_to_wake_;  // a woken waiter is gone
      waiter->Wake();
      waiter = next;
    }
    first_ = nullptr;
    end_ = &first_;
  }

 private:
  Waiter* first_ = nullptr;
  Waiter** end_ = &first_;  // where the next one goes
};

}  // namespace csp

#endif  // CSP_SELECT_WAIT_LIST_H_
