// Invariants
//  1. kIdle -> kRunning by whoever then calls the function; kRunning -> kDone when it has returned.
//     If it throws: a waiter is claimed, and kRunning is now his; or nobody waits, and it is kIdle
//     again.
//  2. Whoever waits is linked while it is kRunning, under kQueue, and the runner takes kQueue to
//     leave: he finds everybody who waits. Waits are shielded: nobody gives up.
//  3. `ok` tells a woken waiter whether it is done; if not, it is his turn.
//  4. The store that ends kRunning is the runner's last touch of the object; the wakes touch
//     waiters.
#include "csp/sync/once.h"

#include "csp/base/lock_rank.h"
#include "csp/select/direct_wait.h"
#include "csp/sync/internal/check.h"
#include "csp/sync/internal/patience.h"

namespace csp {
namespace {

constexpr ParkReason kReason{"Call", "once"};

class CallWait final : public internal::DirectWait {
 public:
  CallWait(internal::Parker* self, const Once* once) : DirectWait(self, kReason, once) {}

 private:
  bool Withdraw(Waiter&) noexcept override { return false; }  // shielded: no canceller looks at it
};

}  // namespace

// True: it is the caller's to do. False: it is done.
bool Once::Enter() {
  internal::Parker* self = internal::Parker::Current();
  internal::Patience patience;
  for (;;) {
    std::uint32_t word = word_.load(std::memory_order_acquire);
    if (word == kDone) return false;
    if ((word & kQueue) != 0) {
      patience.Spin();
      continue;
    }
    if (word == kIdle) {
      if (!word_.compare_exchange_weak(word, kRunning, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        continue;
      }
      runner_.store(self, std::memory_order_relaxed);
      return true;
    }
    if (runner_.load(std::memory_order_relaxed) == self) {
      internal::ThrowSyncError(
          "Once::Call: called by the function that it is calling, which would wait for its own "
          "end; "
          "take the inner call out");
    }
    const Shield shield;
    CallWait wait(self, this);
    Waiter& waiter = *wait.Begin();
    internal::CheckLockOrder(internal::LockRank::kObject);
    if (!word_.compare_exchange_weak(word, kRunning | kQueue, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      continue;
    }
    waiters_.PushBack(waiter);
    word_.store(kRunning, std::memory_order_release);  // pairs with the acquire of the next there
    wait.Await();
    if (waiter.ok) return false;
    runner_.store(self, std::memory_order_relaxed);
    return true;
  }
}

void Once::Leave(bool done) {
  internal::Patience patience;
  internal::CheckLockOrder(internal::LockRank::kObject);
  runner_.store(nullptr, std::memory_order_relaxed);
  for (std::uint32_t word = kRunning; !word_.compare_exchange_weak(
           word, kRunning | kQueue, std::memory_order_acquire, std::memory_order_relaxed);
       word = kRunning) {
    patience.Spin();
  }
  WakeList wake;
  std::uint32_t next = kDone;
  if (done) {
    wake.Claim(waiters_, true);
  } else if (Waiter* heir = waiters_.PopClaimed()) {
    heir->ok = false;
    wake.Add(*heir);
    next = kRunning;
  } else {
    next = kIdle;
  }
  // Pairs with the acquire in Call and Enter.
  word_.store(next, std::memory_order_release);
  wake.WakeAll();
}

}  // namespace csp
