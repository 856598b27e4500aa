// Barriers for two sides of which one runs a billion times and the other hardly ever.
//
// Where one thread stores A and reads B, and another stores B and reads A, both need a full barrier
// between their two steps, or else both may read the old value. Here the frequent side has only
// LightBarrier, which keeps the compiler from reordering and costs nothing, and the rare side
// HeavyBarrier, which makes every running thread of the process execute a full barrier
// (membarrier(2), Linux 4.14; some microseconds). After it, whatever the others stored before their
// light barrier is visible here, and whatever they read after it sees what was stored here.
// Where the kernel refuses when the process starts, both are full barriers; if it does so later (a
// seccomp filter that was installed meanwhile), HeavyBarrier ends the process.
//
//   OwnedLock     a lock that its owning thread takes for two stores and a load
//   LeaningLock   a spinlock that becomes such a lock for whoever takes it thousands of times in a
//                 row (leaning_lock.h)
//
// Cost, measured on a 2-core virtual machine: a locked instruction 5 ns, HeavyBarrier 0.2 us while
// the other cores are idle and 11 us while one is busy, which loses 7 us by it.
// Source: D. Vyukov, "Asymmetric rendezvous"; P1202 "Asymmetric fences" (Goldblatt).
#ifndef CSP_BASE_ASYMMETRIC_H_
#define CSP_BASE_ASYMMETRIC_H_

#include "csp/base/atomic.h"
#include "csp/base/spinlock.h"

namespace csp::internal {

#ifndef CSP_ATOMIC_HEADER

// Whether HeavyBarrier is one; decided before the first initialiser of the program runs.
extern bool has_heavy_barrier;

// A barrier that each thread can pay for by itself: a locked instruction on a word that all share.
void FullBarrier();

inline void LightBarrier() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!has_heavy_barrier) [[unlikely]] {
    FullBarrier();
  }
}

void HeavyBarrier();

#endif  // CSP_ATOMIC_HEADER

// A lock with one owner thread, and rare visitors from others.
//
// Invariants
//  1. The owner sets `inside_`, then reads `visitor_`; a visitor sets `visitor_`, then, behind a
//     heavy barrier, reads `inside_`. So not both get in.
//  2. The owner gives way: a visitor waits only for a section that has begun.
class OwnedLock {
 public:
  OwnedLock() = default;
  OwnedLock(const OwnedLock&) = delete;
  OwnedLock& operator=(const OwnedLock&) = delete;

  // By the owner. Not reentrant.
  void EnterAsOwner() {
    inside_.store(true, std::memory_order_relaxed);
    LightBarrier();
    // Pairs with LeaveAsVisitor's release.
    while (visitor_.load(std::memory_order_acquire)) [[unlikely]] {
        GiveWay();
      }
  }
  void LeaveAsOwner() { inside_.store(false, std::memory_order_release); }

  // By anybody else.
  void EnterAsVisitor() {
    visitors_.lock();
    visitor_.store(true, std::memory_order_relaxed);
    HeavyBarrier();
    while (inside_.load(std::memory_order_acquire)) CpuRelax();  // pairs with LeaveAsOwner
  }
  void LeaveAsVisitor() {
    visitor_.store(false, std::memory_order_release);
    visitors_.unlock();
  }

 private:
  void GiveWay() {
    inside_.store(false, std::memory_order_release);
    SpinWhile(visitor_);
    inside_.store(true, std::memory_order_relaxed);
    LightBarrier();
  }

  Atomic<bool> inside_{false};
  Atomic<bool> visitor_{false};
  SpinLock visitors_{LockRank::kQueue};
};

}  // namespace csp::internal

#endif  // CSP_BASE_ASYMMETRIC_H_
