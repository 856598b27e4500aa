// A wait for one object alone: what a plain Send or Recv does. It is decided under that object's
// lock, so it needs no attempt and no claim; a compare-and-swap less each time, on the hottest path
// there is. (select and timed waits, which several objects may end, use attempt.h.)
//
// Invariants
//  1. A waiter that is linked is undecided: whoever unlinks it, under the object's lock, has
//     decided the wait and owes the wake.
//  2. Only a canceller comes from elsewhere. It finds the wait through the parker's `direct` word
//     and asks it to Withdraw, which takes the object's lock and unlinks the waiter if it is still
//     there; then the canceller owes the wake.
//  3. The frame outlives the canceller: the canceller adds a pin, then (heavy barrier) reads
//     `direct`; who leaves clears `direct`, then (light barrier) waits until there is no pin. So
//     either the canceller finds nothing, or the frame stays until it is through.
//  4. A shielded wait does not show itself.
#ifndef CSP_SELECT_DIRECT_WAIT_H_
#define CSP_SELECT_DIRECT_WAIT_H_

#include "csp/base/asymmetric.h"
#include "csp/sched/parker.h"
#include "csp/select/blocking.h"
#include "csp/select/waiter.h"

namespace csp::internal {

class DirectWait {
 public:
  // `self` is the caller; `reason` and `object` are for dumps.
  DirectWait(Parker* self, const ParkReason& reason, const void* object)
      : self_(self), reason_(reason), object_(object) {}
  DirectWait(const DirectWait&) = delete;
  DirectWait& operator=(const DirectWait&) = delete;

  Parker* self() const { return self_; }

  // Under the object's lock: the waiter to link, or null if the caller has been cancelled.
  Waiter* Begin() {
    waiter_.BindDirect(self_);
    begun_ = true;
    if (shielded_ || self_->words.shield_depth != 0) return &waiter_;
    self_->words.direct.store(this, std::memory_order_release);
    LightBarrier();  // pairs with CancelSweep's heavy one
    begun_ = !SaysCancelled(self_->words.cancel.load(std::memory_order_relaxed));
    return begun_ ? &waiter_ : nullptr;
  }

  // With no lock held. True: the object has decided, see waiter(). False: nothing has happened, try
  // again. Throws Cancelled if nothing has happened and the caller is cancelled.
  bool Await() {
    if (begun_) self_->Park(reason_, object_);
    self_->words.direct.store(nullptr, std::memory_order_release);
    LightBarrier();
    if (self_->words.pins.load(std::memory_order_acquire) != 0) [[unlikely]] {
      AwaitUnpinned();
    }
    if (begun_ && !withdrawn_) [[likely]] {
      return true;
    }
    Refuse();
    return false;
  }

  Waiter& waiter() { return waiter_; }

  // For the canceller, which has pinned the parker: true if this call has ended the wait.
  bool WithdrawForCancel() {
    if (!Withdraw(waiter_)) return false;
    withdrawn_ = true;
    return true;
  }

 protected:
  ~DirectWait() = default;

  // Takes the object's lock; unlinks `waiter` and returns true if it still is linked.
  virtual bool Withdraw(Waiter& waiter) noexcept = 0;

 private:
  void AwaitUnpinned();
  void Refuse();

  Parker* const self_;
  const ParkReason& reason_;
  const void* const object_;
  Waiter waiter_;
  bool begun_ = false;
  bool shielded_ = false;   // unwinding: takes no notice of cancellation
  bool withdrawn_ = false;  // by a canceller, before its wake
};

}  // namespace csp::internal

#endif  // CSP_SELECT_DIRECT_WAIT_H_
