// One wait: who may decide it, and the wake that follows.
//
// Whoever waits publishes an attempt (a pending word in its Parker) and links waiters into the
// objects that could end the wait. Whoever wants to end it *claims* the attempt through one of
// those waiters; the first claim wins. A claimer then moves the value, if there is one, and wakes
// the waiter, which has nothing left to do but read the outcome.
//
//   word   generation:48 | index:14 | phase:2      phases: idle, pending, pending-shielded, claimed
//
// Invariants
//  1. A word goes from pending to claimed by compare-and-swap, once a generation. A claim names the
//     generation, so a stale claimer fails, whatever runs on the fiber by then.
//  2. A claimed attempt gets exactly one Wake, from the claimer, and always awaits it: until then
//     its frame, and every waiter in it, stays. (An Abort is the waiter's own claim: no wake.)
//  3. Before an attempt's frame is left, every waiter it linked has been unlinked, by its claimer
//     or by Disarm, under the object's lock. So nobody reaches a waiter whose frame is gone.
//  4. Claims are made under the lock of the object that holds the waiter, and wakes after it has
//     been released.
//  5. From Begin to Await or Abort the owner does not suspend, nor yield: a wake that comes early
//     is a place in the run queue, and a fiber has one at most.
//
// Cancellation is one more claimer, without an object: Begin publishes the word, then (light
// barrier) looks at the cancel flag; the canceller sets the flag, then (heavy barrier) looks at the
// word. One of them sees the other. A shielded wait has a phase of its own, which cancellers leave
// alone.
//
// Memory ordering: what happens before a claim's Wake is visible when Await returns.
#ifndef CSP_SELECT_ATTEMPT_H_
#define CSP_SELECT_ATTEMPT_H_

#include <cstdint>

#include "csp/base/asymmetric.h"
#include "csp/sched/parker.h"

namespace csp::internal {

class Attempt {
 public:
  // Indices that are no case's: those are below.
  static constexpr int kAborted = 0x3FFE;
  static constexpr int kCancelled = 0x3FFF;

  explicit Attempt(Parker* parker) : parker_(parker) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Publishes the attempt; from here on it can be claimed. `shielded`: not by a canceller.
  // False: the parker has been cancelled, by one of `heeded`; nothing is published then.
  bool Begin(bool shielded, std::uint64_t heeded = kTaskCancelled | kScopeCancelled) {
    Atomic<std::uint64_t>& word = parker_->words.attempt;
    const std::uint64_t generation = (word.load(std::memory_order_relaxed) & kGeneration) + kOne;
    pending_ = generation | (shielded ? kShielded : kPending);
    word.store(pending_, std::memory_order_release);
    LightBarrier();  // pairs with CancelSweep's heavy one
    if (shielded || (parker_->words.cancel.load(std::memory_order_relaxed) & heeded) == 0) {
      return true;
    }
    return !Abort();  // a canceller that was quicker has claimed it: then there is a wake to await
  }

  // The waiter's own claim: gives the attempt up. False: somebody else has claimed it, Await.
  bool Abort() { return Claim(parker_, pending_, kAborted); }

  // The other side's claim, through a waiter.
  static bool Claim(Parker* parker, std::uint64_t pending, int index) {
    return parker->words.attempt.compare_exchange_strong(
        pending, Claimed(pending, index), std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  // Suspends until the one wake; returns the index it was claimed with.
  int Await(const ParkReason& reason, const void* object) {
    parker_->Park(reason, object);
    return Index(parker_->words.attempt.load(std::memory_order_acquire));
  }

  // True while nobody has decided.
  bool pending() const {
    return parker_->words.attempt.load(std::memory_order_relaxed) == pending_;
  }

  Parker* parker() const { return parker_; }
  std::uint64_t pending_word() const { return pending_; }

  // For cancellers: the word of a parker seen from outside.
  static bool IsCancellable(std::uint64_t word) { return (word & kPhase) == kPending; }

 private:
  static constexpr std::uint64_t kPhase = 3;
  static constexpr std::uint64_t kPending = 1;
  static constexpr std::uint64_t kShielded = 2;
  static constexpr std::uint64_t kClaimed = 3;
  static constexpr std::uint64_t kOne = 1 << 16;
  static constexpr std::uint64_t kGeneration = ~(kOne - 1);

  static std::uint64_t Claimed(std::uint64_t pending, int index) {
    return (pending & kGeneration) | static_cast<std::uint64_t>(index) << 2 | kClaimed;
  }
  static int Index(std::uint64_t word) { return static_cast<int>((word & ~kGeneration) >> 2); }

  Parker* const parker_;
  std::uint64_t pending_ = 0;
};

}  // namespace csp::internal

#endif  // CSP_SELECT_ATTEMPT_H_
