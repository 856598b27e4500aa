// A mutex for fibers and plain threads: a fiber that waits for it costs no thread.
//
//   csp::Mutex mu;
//   int balance ABSL_GUARDED_BY(mu) = 0;
//
//   {
//     const csp::MutexLock lock(mu);        // or std::unique_lock, std::scoped_lock(mu, other)
//     balance += 10;
//   }
//   csp::Select(mu.OnLock() >> [&](std::unique_lock<csp::Mutex> lock) { balance -= 10; },
//               csp::OnTimeout(absl::Seconds(1)) >> [] { … });
//
//   verb    event     try        with a limit
//   lock    OnLock    try_lock   try_lock_for, try_lock_until
//
// It may be held while the fiber waits for something else, and be unlocked on another thread than
// it was locked on: fibers move. Not recursive.
//
// Fairness: whoever finds it free takes it, also past others that wait, since a lock that always
// goes to the one who has waited longest costs a switch each time. Who waits is woken in the order
// of coming, and is passed over a bounded number of times: from its wake until it runs by 4,096
// others at most; if it then comes too late, the next unlock hands the lock over to it.
// Whoever waits in a select or up to a limit is handed the lock in its turn.
//
// Thread rules: all members from any fiber or thread. It may be destroyed as soon as whoever
// destroys it has had the lock and nobody else will want it, even while the unlock that woke him is
// on its way out. Whoever has locked it unlocks it. Debug builds check that nobody locks it twice,
// and that it is free when it is destroyed.
// Memory ordering: what happens before an unlock is visible after the next lock.
// Cost: lock and unlock are a compare-and-swap each while nobody waits; 32 bytes; no allocation.
// Source: the word and the queue are those of WTF::Lock (F. Pizlo, "Locking in WebKit", 2016) and
// of nsync (M. Burrows); the bounds are csp's.
#ifndef CSP_SYNC_MUTEX_H_
#define CSP_SYNC_MUTEX_H_

#include <chrono>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "csp/base/atomic.h"
#include "csp/select/case.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_list.h"
#include "csp/sync/internal/std_time.h"

namespace csp {

class CondVar;

class ABSL_LOCKABLE Mutex {
 public:
  class LockEvent;

  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
#ifdef NDEBUG
  ~Mutex() = default;
#else
  ~Mutex();
#endif

  // Blocks until the caller has the lock. No cancellation point: a cancelled fiber gets it, too.
  // Debug builds throw SyncError if the calling fiber has it already; else that is a deadlock.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    // Pairs with the release in unlock.
    if ((word & (kLocked | kReserved)) != 0 ||
        !word_.compare_exchange_strong(word, word | kLocked, std::memory_order_acquire,
                                       std::memory_order_relaxed)) [[unlikely]] {
      LockSlow();
    }
    NoteOwner();
  }

  // Gives the lock back, and wakes whose turn it is. Never suspends. Throws SyncError if nobody has
  // the lock. (std::lock_guard and its like unlock in a destructor, where that ends the process.)
  void unlock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    ForgetOwner();
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    // Nobody waits; or one has been woken and may be passed over once more.
    if ((word != kLocked &&
         ((word & (kLocked | kQueue | kWoken)) != (kLocked | kWoken) || ++passes_ >= kMaxPasses)) ||
        !word_.compare_exchange_strong(word, word & ~kLocked, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      UnlockSlow();
    }
  }

  // True: the caller has the lock. False: somebody else has it. Never suspends.
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true);

  // As lock, up to a limit: false if it has passed. A lock that is free wins over a limit that has
  // passed. Throws Cancelled; the caller then has nothing.
  bool try_lock_for(absl::Duration limit) ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true);
  bool try_lock_until(absl::Time deadline) ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true);

  // The same in the standard's terms, for std::unique_lock and std::timed_mutex's users.
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> limit)
      ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return try_lock_for(internal::FromStd(limit));
  }
  template <class AnyClock, class Span>
  bool try_lock_until(std::chrono::time_point<AnyClock, Span> deadline)
      ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return try_lock_for(internal::LimitOf(deadline));
  }

  // For a function or lambda that is called with the lock held: tells clang's analysis so. Debug
  // builds throw SyncError if the calling fiber or thread does not have it.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() { CheckOwner(); }

  // The lock as an event of Select; its result is a std::unique_lock that has it. Losing leaves no
  // place in the queue. Throws Cancelled.
  [[nodiscard]] LockEvent OnLock();

 private:
  friend class LockEvent;
  friend class CondVar;

  // The bits of `word_`; see mutex.cc.
  static constexpr std::uint32_t kLocked = 1;
  static constexpr std::uint32_t kQueue = 2;
  static constexpr std::uint32_t kWaiters = 4;
  static constexpr std::uint32_t kWoken = 8;
  static constexpr std::uint32_t kReserved = 16;

  // How many get the lock between the wake of a waiter and its turn.
  static constexpr std::uint32_t kMaxPasses = internal::kModelled ? 2 : 4096;

  void LockSlow();
  void UnlockSlow();
  bool LockUntil(std::int64_t deadline);
  bool IsLocked() const { return (word_.load(std::memory_order_relaxed) & kLocked) != 0; }
  bool Enqueue(Waiter& waiter, bool was_woken);
  void Dequeue(Waiter& waiter);
  void LeaveQueue(std::uint32_t add, std::uint32_t remove);

#ifdef NDEBUG
  void NoteOwner() {}
  void ForgetOwner() {}
  void CheckOwner() const {}
#else
  void NoteOwner();
  void ForgetOwner();
  void CheckOwner() const;
#endif

  internal::Atomic<std::uint32_t> word_{0};
  std::uint32_t passes_ = 0;  // the owner's: how often the woken one has been passed over
  WaitList waiters_;          // guarded by kQueue
  internal::Atomic<const internal::Parker*> owner_{nullptr};  // debug builds only
};

class Mutex::LockEvent final : public SelectEvent, public Case {
 public:
  using Result = std::unique_lock<Mutex>;

  explicit LockEvent(Mutex& mutex) : Case(Kind::kAsk), mutex_(mutex) {}

  bool Poll() override ABSL_NO_THREAD_SAFETY_ANALYSIS { return mutex_.try_lock(); }
  Arming Arm() override;
  void Disarm() noexcept override { mutex_.Dequeue(waiter); }
  // It has been handed over.
  bool Accept() override {
    mutex_.passes_ = 0;
    mutex_.NoteOwner();
    return true;
  }
  Result Take() { return Result(mutex_, std::adopt_lock); }

  const ParkReason& reason() const override;
  const void* object() const override { return &mutex_; }

 private:
  Mutex& mutex_;
};

inline Mutex::LockEvent Mutex::OnLock() { return LockEvent(*this); }

// Holds a mutex for its own lifetime, as std::lock_guard does, but known to clang's analysis.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace csp

#endif  // CSP_SYNC_MUTEX_H_
