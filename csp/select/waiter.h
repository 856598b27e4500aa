// A waiter: one attempt's place in one object's wait list.
#ifndef CSP_SELECT_WAITER_H_
#define CSP_SELECT_WAITER_H_

#include <cstdint>

#include "csp/base/intrusive_list.h"
#include "csp/select/attempt.h"

namespace csp {

// Lives in a case, on the waiting fiber's stack. Whoever implements a waitable object links it into
// a WaitList in Arm and finds it there again when the event happens.
class Waiter : public internal::ListNode<Waiter> {
 public:
  Waiter() = default;

  // Where the value comes from or goes to; `ok` is what the claimer reports. Both mean what the
  // object and its cases agree on.
  void* slot = nullptr;
  bool ok = false;

  // --- For the waiting side (csp/select).

  void Bind(const internal::Attempt& attempt, int index) {
    parker_ = attempt.parker();
    pending_ = attempt.pending_word();
    index_ = index;
  }

  // For a wait that this object alone decides (direct_wait.h).
  void BindDirect(internal::Parker* parker) {
    parker_ = parker;
    pending_ = kDirect;
  }

  // --- For the object's side; under its lock.

  // Decides the wait in favour of this waiter. False: it has been decided otherwise, or given up;
  // the waiter is to be dropped. After true the caller owes exactly one Wake.
  bool TryClaim() {
    return pending_ == kDirect || internal::Attempt::Claim(parker_, pending_, index_);
  }

  // True if the other waiter belongs to the same wait: a select never pairs with itself.
  bool SameWait(const internal::Parker* parker) const { return parker_ == parker; }
  const internal::Parker* parker() const { return parker_; }

  // True while the wait is undecided. A hint, unless the caller holds what decides it.
  bool StillWaits() const {
    return pending_ == kDirect ||
           parker_->words.attempt.load(std::memory_order_acquire) == pending_;
  }

  // --- For the claimer, after the object's lock has been released. The last touch of the waiter.
  void Wake() { Wake(internal::CurrentThread()); }
  void Wake(internal::ThreadContext* thread) {
    parker_->Unpark(thread, pending_ == kDirect ? internal::Turn::kNext : internal::Turn::kBehind);
  }

 private:
  friend class WakeList;
  static constexpr std::uint64_t kDirect = 0;  // no attempt's word

  internal::Parker* parker_ = nullptr;
  std::uint64_t pending_ = 0;
  int index_ = 0;
  Waiter* next_to_wake_;  // the claimer's
};

}  // namespace csp

#endif  // CSP_SELECT_WAITER_H_
