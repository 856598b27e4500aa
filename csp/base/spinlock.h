// A spinlock for sections of a few instructions, with a rank (lock_rank.h).
//
// Rules for whoever holds one: no user code, no system call, no suspension, no other lock of the
// same or a lower rank; and no allocation, but for a timer heap's array, which doubles now and
// then.
//
// Waiters spin on a plain load, so the line stays shared.
#ifndef CSP_BASE_SPINLOCK_H_
#define CSP_BASE_SPINLOCK_H_

#include "csp/base/atomic.h"
#include "csp/base/lock_rank.h"

namespace csp::internal {

// Spins until `word` is false, and acquires what was done before that. Gives the processor away
// after a while: whoever is to clear it may be a thread that the kernel has preempted.
void SpinWhile(const Atomic<bool>& word);

class SpinLock {
 public:
  explicit constexpr SpinLock(LockRank rank) : rank_(rank) {}
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  // The names of the standard's BasicLockable, so that std::lock_guard works.
  void lock() {
    CheckLockOrder(rank_);
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]] {
      LockSlow();
    }
    NoteLocked(rank_);
  }

  bool try_lock() {
    if (held_.load(std::memory_order_relaxed)) return false;
    if (held_.exchange(true, std::memory_order_acquire)) return false;
    NoteLocked(rank_);
    return true;
  }

  // Returns once nobody holds it, without taking it: for whoever knows that nobody will again, and
  // wants to know that the last holder has let go.
  void AwaitFree() const {
    // Pairs with the release in unlock().
    if (held_.load(std::memory_order_acquire)) [[unlikely]] {
      SpinWhile(held_);
    }
  }

  void unlock() {
    NoteUnlocked(rank_);
    held_.store(false, std::memory_order_release);  // pairs with the exchange in lock()
  }

 private:
  void LockSlow();

  Atomic<bool> held_{false};
  const LockRank rank_;
};

}  // namespace csp::internal

#endif  // CSP_BASE_SPINLOCK_H_
