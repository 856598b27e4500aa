// The word of a mutex:
//
//   kLocked     somebody has the lock
//   kQueue      somebody is at the queue: a spinlock for `waiters_`
//   kWaiters    the queue is not empty
//   kWoken      one who waited has been woken to compete for the lock, and has not come yet
//   kReserved   the lock is free, but only for the woken one
//
// Invariants
//  1. kLocked goes from clear to set by the compare-and-swap of whoever gets the lock; it is
//     cleared by the owner alone, and not while somebody else has kQueue. An owner may leave it set
//     and name a waiter its successor: a hand-over.
//  2. So whoever has kQueue, and saw the lock taken or reserved when he got it, knows that it stays
//     so until he leaves the queue. A waiter that is linked then does not miss the unlock.
//  3. While somebody waits undecided in the queue, the lock is taken, and its unlock will look at
//     the queue; or kWoken is set, and the woken one will take the lock, or queue up again and
//     clear kWoken while the lock is taken.
//  4. kWoken is set by an owner that unlocks, for a waiter that it has claimed, and cleared by that
//     waiter, which always comes: lock() is not cancelled. Waits that can be given up (OnLock,
//     timed ones) are never woken to compete: they are handed the lock in the claim.
//  5. kReserved implies kWoken and not kLocked.
//  6. The store or swap that clears kLocked, or that leaves the queue after a hand-over, is the
//     unlocker's last touch of the mutex; the wake touches the waiter only. So whoever gets the
//     lock may destroy it.
//
// Fairness: (a) the queue is served in order, and a woken waiter that came too late returns to its
// head; (b) such a waiter is handed the lock by the next unlock that finds it; (c) unlocks while
// kWoken is set are counted (`passes_`), and the last one of kMaxPasses reserves the lock. (c) is a
// number and not a time: where one fiber locks and unlocks in a loop, the woken one may be behind
// it on the same worker, and only a lock that is not to be had makes room for it.
#include "csp/sync/mutex.h"

#include "csp/base/clock.h"
#include "csp/base/lock_rank.h"
#include "csp/select/block.h"
#include "csp/select/direct_wait.h"
#include "csp/select/retry.h"
#include "csp/sync/internal/check.h"
#include "csp/sync/internal/patience.h"

namespace csp {
namespace {

constexpr ParkReason kReason{"Lock", "mutex"};

// Turns of a spin before the wait; each is some 20 ns.
constexpr int kSpins = 30;

// A wait of lock(): shielded, so no canceller ever looks at it.
class LockWait final : public internal::DirectWait {
 public:
  LockWait(internal::Parker* self, const Mutex* mutex) : DirectWait(self, kReason, mutex) {}

 private:
  bool Withdraw(Waiter&) noexcept override { return false; }
};

}  // namespace

void Mutex::LockSlow() {
#ifndef NDEBUG
  // First who the caller is: a new thread gets the record of one that has ended, which may have had
  // the lock a moment ago.
  const internal::Parker* self = internal::Parker::Current();
  if (owner_.load(std::memory_order_relaxed) == self) {
    internal::ThrowSyncError(
        "Mutex::lock: the calling fiber has the lock already; csp::Mutex is not recursive, so "
        "split the function into one that locks and one that is called with the lock held");
  }
#endif
  bool woken = false;
  int spins = internal::SpinMayPay() ? kSpins : 0;
  internal::Patience patience;
  for (;;) {
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    if ((word & (woken ? kLocked : kLocked | kReserved)) == 0) {
      const std::uint32_t mine = (woken ? word & ~(kWoken | kReserved) : word) | kLocked;
      // Pairs with the unlocker's release.
      if (word_.compare_exchange_weak(word, mine, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        if (woken) passes_ = 0;
        return;
      }
      continue;
    }
    // Not if others wait: then there is more to wait for than the end of one section.
    if (spins > 0 && ((word & (kWaiters | kReserved)) == 0 || woken)) {
      --spins;
      internal::CpuRelax();
      continue;
    }
    if ((word & kQueue) != 0) {
      patience.Spin();
      continue;
    }
    const Shield shield;
    LockWait wait(internal::Parker::Current(), this);
    Waiter& waiter = *wait.Begin();
    waiter.slot = woken ? this : nullptr;  // not null: is to be handed the lock
    if (!Enqueue(waiter, woken)) continue;
    wait.Await();
    if (waiter.ok) {
      passes_ = 0;
      return;
    }
    woken = true;
  }
}

void Mutex::UnlockSlow() {
  internal::Patience patience;
  for (;;) {
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    if ((word & kLocked) == 0) {
      internal::ThrowSyncError(
          "Mutex::unlock: nobody has the lock; unlock once for each lock, best by a MutexLock");
    }
    if ((word & kQueue) != 0) {
      patience.Spin();
      continue;
    }
    if ((word & kWaiters) == 0 || (word & kWoken) != 0) {
      std::uint32_t next = word & ~kLocked;
      if ((word & kWoken) != 0 && ++passes_ >= kMaxPasses) next |= kReserved;
      if (word_.compare_exchange_weak(word, next, std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return;
      }
      continue;
    }
    internal::CheckLockOrder(internal::LockRank::kObject);
    // Pairs with the release of whoever was at the queue before.
    if (!word_.compare_exchange_weak(word, word | kQueue, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      continue;
    }
    // Lock and queue are the caller's: nobody else changes the word.
    Waiter* next = waiters_.PopClaimed();
    std::uint32_t left = waiters_.empty() ? 0 : kWaiters;
    if (next != nullptr) {
      next->ok = next->slot != nullptr;
      left |= next->ok ? kLocked : kWoken;
    }
    // Pairs with the acquire of the next one at the queue or at the lock.
    word_.store(left, std::memory_order_release);
    if (next != nullptr) next->Wake();
    return;
  }
}

// Links `waiter` and returns true, or returns false if the lock is to be had. `was_woken`: the
// caller was woken and came too late; it goes to the head.
bool Mutex::Enqueue(Waiter& waiter, bool was_woken) {
  internal::Patience patience;
  for (;;) {
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    if ((word & (was_woken ? kLocked : kLocked | kReserved)) == 0) return false;
    if ((word & kQueue) != 0) {
      patience.Spin();
      continue;
    }
    internal::CheckLockOrder(internal::LockRank::kObject);
    if (word_.compare_exchange_weak(word, word | kQueue, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      break;
    }
  }
  if (was_woken) {
    waiters_.PushFront(waiter);
  } else {
    waiters_.PushBack(waiter);
  }
  LeaveQueue(kWaiters, was_woken ? kQueue | kWoken : kQueue);
  return true;
}

// Unlinks `waiter` if it still is linked.
void Mutex::Dequeue(Waiter& waiter) {
  internal::Patience patience;
  for (;;) {
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    if ((word & kQueue) != 0) {
      patience.Spin();
      continue;
    }
    internal::CheckLockOrder(internal::LockRank::kObject);
    if (word_.compare_exchange_weak(word, word | kQueue, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      break;
    }
  }
  waiters_.Remove(waiter);
  LeaveQueue(0, waiters_.empty() ? kQueue | kWaiters : kQueue);
}

// Others may take the lock meanwhile, if it is free; all else of the word is the caller's.
void Mutex::LeaveQueue(std::uint32_t add, std::uint32_t remove) {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  // Pairs with the acquire of the next one at the queue.
  while (!word_.compare_exchange_weak(word, (word & ~remove) | add, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
}

bool Mutex::try_lock() {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  while ((word & (kLocked | kReserved)) == 0) {
    if (word_.compare_exchange_weak(word, word | kLocked, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      NoteOwner();
      return true;
    }
  }
  return false;
}

bool Mutex::LockUntil(std::int64_t deadline) {
  LockEvent event(*this);
  return internal::BlockUntil(event, deadline);
}

bool Mutex::try_lock_for(absl::Duration limit) {
  return LockUntil(internal::DeadlineAfter(internal::NowNanos(), limit));
}

bool Mutex::try_lock_until(absl::Time deadline) { return LockUntil(internal::FromTime(deadline)); }

Arming Mutex::LockEvent::Arm() {
  waiter.slot = &mutex_;
  return mutex_.Enqueue(waiter, false) ? Arming::kArmed : Arming::kReady;
}

const ParkReason& Mutex::LockEvent::reason() const { return kReason; }

#ifndef NDEBUG

Mutex::~Mutex() {
  if (word_.load(std::memory_order_acquire) != 0) {
    internal::AbortDestroyedInUse("Mutex: destroyed while somebody has the lock or waits for it");
  }
}

void Mutex::NoteOwner() { owner_.store(internal::Parker::Current(), std::memory_order_relaxed); }

void Mutex::ForgetOwner() { owner_.store(nullptr, std::memory_order_relaxed); }

void Mutex::CheckOwner() const {
  const internal::Parker* self = internal::Parker::Current();
  if (owner_.load(std::memory_order_relaxed) != self) {
    internal::ThrowSyncError(
        "Mutex::AssertHeld: the caller does not have the lock; lock it before the call");
  }
}

#endif  // NDEBUG

}  // namespace csp
