// The lock of things that are waited for: a spinlock that leans towards the worker that uses it.
//
// Fibers that talk to each other live on one worker, so most channels are locked by one thread all
// the time, and the locked instruction is a good part of a send. Once a worker has taken the lock
// kStreak times in a row, the lock leans: from then on that worker takes it with plain loads and
// stores (as OwnedLock), until anybody else wants it. He straightens it up, at the price of a heavy
// barrier, and from then on it is a plain spinlock, until the next streak. A lock
// that lives for a few operations, or that several workers share, never leans.
//
// Invariants
//  1. `leans_to_` is written only by a holder of `held_`. The lock is held by whoever holds `held_`
//     while nobody is leaned to, or by the thread leaned to while its record's `inside` is this.
//  2. The favourite sets `inside`, then reads `leans_to_` (light barrier between); who straightens
//     the lock clears `leans_to_`, then (heavy barrier) waits for `inside` to be another.
//  3. Records are never freed, so one that a lock still leans to after its thread has ended is
//     harmless; a later thread that takes the record over inherits the favour.
// Sections are short, never suspend, and never nest on one thread: one `inside` a thread is enough.
#ifndef CSP_BASE_LEANING_LOCK_H_
#define CSP_BASE_LEANING_LOCK_H_

#include <cstdint>

#include "csp/base/asymmetric.h"
#include "csp/base/atomic.h"
#include "csp/base/lock_rank.h"
#include "csp/base/spinlock.h"
#include "csp/base/thread_context.h"

namespace csp::internal {

class LeaningLock;

// A worker thread's side of leaning.
struct LeanRecord {
  Atomic<const LeaningLock*> inside{nullptr};  // written by its thread
  Atomic<bool> in_use{true};
  LeanRecord* next = nullptr;
};

// Lets locks lean to the calling thread from now on, until the second is called.
void AcquireLeanRecord();
void ReleaseLeanRecord();

class LeaningLock {
 public:
  LeaningLock() = default;
  LeaningLock(const LeaningLock&) = delete;
  LeaningLock& operator=(const LeaningLock&) = delete;

  void lock() { lock(CurrentThread()); }

  // The same for callers who know their thread's context already.
  void lock(ThreadContext* thread) {
    CheckLockOrder(LockRank::kObject);
    LeanRecord* me = thread->lean;
    if (me != nullptr && leans_to_.load(std::memory_order_relaxed) == me) {
      // Release: who straightens the lock that it was inside before may find it in this one.
      me->inside.store(this, std::memory_order_release);
      LightBarrier();
      if (leans_to_.load(std::memory_order_relaxed) == me) [[likely]] {
        favoured_ = me;
        NoteLocked(LockRank::kObject);
        return;
      }
      me->inside.store(nullptr, std::memory_order_release);
    }
    LockUpright(me);
    NoteLocked(LockRank::kObject);
  }

  void unlock() {
    NoteUnlocked(LockRank::kObject);
    if (LeanRecord* me = favoured_) {
      favoured_ = nullptr;
      // Pairs with the acquire of whoever straightens the lock.
      me->inside.store(nullptr, std::memory_order_release);
    } else {
      held_.unlock();
    }
  }

  // Holds the lock as std::unique_lock does, by a thread whose context is at hand.
  class Hold {
   public:
    Hold(LeaningLock& lock, ThreadContext* thread) : lock_(&lock) { lock.lock(thread); }
    ~Hold() {
      if (lock_ != nullptr) lock_->unlock();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    void Release() {
      lock_->unlock();
      lock_ = nullptr;
    }

   private:
    LeaningLock* lock_;
  };

 private:
  // So that a heavy barrier (some 20 us in all) is paid for by the locked instructions saved.
  static constexpr std::uint32_t kStreak = kModelled ? 2 : 4096;

  void LockUpright(LeanRecord* me) {
    held_.lock();
    if (me != nullptr && me == last_ && leans_to_.load(std::memory_order_relaxed) == nullptr) {
      if (++streak_ < kStreak) return;
    }
    LockRarely(me);
  }
  void LockRarely(LeanRecord* me);

  Atomic<LeanRecord*> leans_to_{nullptr};
  SpinLock held_{LockRank::kObject};
  // The holder's.
  LeanRecord* favoured_ = nullptr;  // who holds it by favour
  std::uint32_t streak_ = 0;
  LeanRecord* last_ = nullptr;
};

}  // namespace csp::internal

#endif  // CSP_BASE_LEANING_LOCK_H_
