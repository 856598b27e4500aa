// Which workers sleep, and how work finds one of them.
//
// At most one idle worker is the *watcher*: it sleeps in the poller (so it also waits for the
// outside world and for the next timer of any worker) and looks after busy workers' queues. Every
// other idle worker is parked and costs nothing; when the watcher finds work it wakes one of them
// to watch in its place.
//
//   level      who wakes the watcher          used
//   kAwake     nobody needs to                it looks at the queues again before it sleeps
//   kNapping   foreign threads                for 20 to 80 us, while busy workers show work
//   kSleeping  any push, also a local one     when no queue shows anything
//
// So pushing to one's own worker wakes nobody as long as the watcher naps: two fibers that talk
// stay together and pay no system call, and work that is left waiting is found within a nap.
//
// Invariants
//  1. Sleep: the watcher publishes kSleeping, then, behind a heavy barrier, looks at every queue,
//     then polls if all were quiet. Push: publish the work, light barrier, read the level. So
//     either the watcher sees the work or the pusher sees the level (asymmetric.h). Foreign pushes
//     use seq_cst on both sides, since they may meet a napping watcher, which does without the
//     heavy barrier. At kNapping nobody but foreign threads wakes the watcher: it never waits there
//     for longer than a nap, whatever it has seen before. A timer is work only for a watcher that
//     sleeps beyond it; this holds for busy workers' timers, too, since the watcher fires those
//     that their worker has no time for.
//  2. Whoever swaps the level to kAwake, and only he, breaks the poller.
//  3. `mu_` guards who watches and who is parked: a worker parks only while somebody else watches,
//     and a watcher that resigns wakes a parked worker if there is one. So parked workers without
//     a watcher are impossible, unless all others are busy and none is parked.
//
// Rejected: waking an idle worker on every push (Go's wakep). A hand-over between two threads
// costs 13 us on a virtual machine, a fiber switch 15 ns, and most work is gone before the thief
// comes. Also rejected: spinning idle workers, which take a core from the program on small
// machines.
#ifndef CSP_SCHED_INTERNAL_IDLE_H_
#define CSP_SCHED_INTERNAL_IDLE_H_

#include <cstdint>
#include <mutex>

#include "csp/base/asymmetric.h"
#include "csp/base/atomic.h"
#include "csp/base/cache_line.h"
#include "csp/base/intrusive_list.h"
#include "csp/base/spinlock.h"

namespace csp::internal {

class Idle {
 public:
  enum Level : std::uint32_t { kAwake, kNapping, kSleeping };

  // A worker's place to park.
  struct Seat : ListNode<Seat> {
    Atomic<std::uint32_t> called{0};  // the word its thread sleeps on
  };

  // --- Pushers, after the work has been published. True: break the poller.

  bool WakeAfterLocalPush() {
    LightBarrier();
    return level_.load(std::memory_order_seq_cst) == kSleeping && Rouse();
  }
  bool WakeAfterForeignPush() {
    return level_.load(std::memory_order_seq_cst) != kAwake && Rouse();
  }

  // After a timer has become the earliest of its heap.
  bool WakeForTimer(std::int64_t deadline) {
    LightBarrier();
    return level_.load(std::memory_order_seq_cst) == kSleeping &&
           // Announce publishes it.
           deadline < sleeps_until_.load(std::memory_order_relaxed) && Rouse();
  }

  // --- Idle workers.

  // True: the caller is the watcher now. False: `seat` is parked; wait for its call.
  bool WatchOrPark(Seat& seat) {
    idle_.fetch_add(1, std::memory_order_seq_cst);
    const std::lock_guard lock(mu_);
    if (watcher_ == nullptr) {
      watcher_ = &seat;
      return true;
    }
    seat.called.store(0, std::memory_order_relaxed);
    parked_.PushBack(&seat);
    return false;
  }

  // A parked worker that has been called is no longer idle, and asks again if it finds nothing.
  void Unparked() { idle_.fetch_sub(1, std::memory_order_seq_cst); }

  // The watcher announces how it is going to wait, and then looks: false if it may not wait, since
  // something is there. `look` says whether nothing is; for a nap, among what foreign threads push.
  template <class Look>
  bool MaySleep(std::int64_t until, Look look) {
    NoteUntil(until);
    Announce(kSleeping);
    HeavyBarrier();  // pushers have only a light one
    return look();
  }
  template <class Look>
  bool MayNap(Look look) {
    Announce(kNapping);
    return look();
  }

  // The steps of these.
  void Announce(Level level) { level_.store(level, std::memory_order_seq_cst); }
  // Before that, when it will wake by itself: who arms an earlier timer must know.
  void NoteUntil(std::int64_t until) { sleeps_until_.store(until, std::memory_order_relaxed); }
  // True if somebody roused it.
  bool Wake() { return level_.exchange(kAwake, std::memory_order_seq_cst) == kAwake; }

  bool roused() const { return level_.load(std::memory_order_seq_cst) == kAwake; }

  // The watcher has work. Returns the seat to call (by Call), null if none is parked.
  Seat* Resign() {
    idle_.fetch_sub(1, std::memory_order_seq_cst);
    const std::lock_guard lock(mu_);
    watcher_ = nullptr;
    return parked_.PopBack();
  }

  // --- Waking one particular worker (pinned fibers).

  enum class Summons { kNone, kCall, kBreak };
  // What must be done so that the worker of `seat` looks at its inbox: call the seat, break the
  // poller, or nothing, since it is awake.
  Summons Summon(Seat& seat) {
    const std::lock_guard lock(mu_);
    if (seat.linked()) {
      parked_.Remove(&seat);
      return Summons::kCall;
    }
    return watcher_ == &seat && WakeAfterForeignPush() ? Summons::kBreak : Summons::kNone;
  }

  // Takes any parked worker out; null if none. For shutdown.
  Seat* PopParked() {
    const std::lock_guard lock(mu_);
    return parked_.PopBack();
  }

  // By a worker that was called and has found work: the seat to call in its place, null if somebody
  // watches or none is parked.
  Seat* TakeHeir() {
    const std::lock_guard lock(mu_);
    return watcher_ == nullptr ? parked_.PopBack() : nullptr;
  }

  // How many workers are idle, the watcher included.
  std::uint32_t count() const { return idle_.load(std::memory_order_seq_cst); }

 private:
  bool Rouse() { return level_.exchange(kAwake, std::memory_order_seq_cst) != kAwake; }

  // Read by every push, written once a sleep: a line of its own.
  alignas(kCacheLine) Atomic<std::uint32_t> level_{kAwake};
  Atomic<std::int64_t> sleeps_until_{0};  // of the last announcement
  alignas(kCacheLine) Atomic<std::uint32_t> idle_{0};
  SpinLock mu_{LockRank::kQueue};
  Seat* watcher_ = nullptr;
  IntrusiveList<Seat> parked_;  // the one parked last is called first: its cache is warm
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_IDLE_H_
