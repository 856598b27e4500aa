// Whose turn it is in the poller: the watcher's, who sleeps there, or a busy worker's, who takes a
// look. Never both.
//
// Invariants
//  1. A Break ends the Poll in progress, so a busy worker's look may take one that was meant for
//     the watcher. Whoever rouses the watcher changes its level before the Break (idle.h); so the
//     watcher, once it has its turn, sleeps only if it has not been roused.
//  2. The watcher does not wait for a look to end: it goes round again, as after any Break.
#ifndef CSP_SCHED_INTERNAL_POLL_TURN_H_
#define CSP_SCHED_INTERNAL_POLL_TURN_H_

#include <cstdint>

#include "csp/base/atomic.h"
#include "csp/sched/internal/idle.h"

namespace csp::internal {

class PollTurn {
 public:
  // By the watcher, after it has announced its sleep. `poller`, here and below, is read during the
  // turn: who replaces it breaks the old one. False: a busy worker is looking.
  template <class Poller>
  bool Sleep(const Idle& idle, const Atomic<Poller*>& poller, std::int64_t until) {
    if (!Begin()) return false;
    if (!idle.roused()) poller.load(std::memory_order_acquire)->Poll(until);
    End();
    return true;
  }

  // By a busy worker.
  template <class Poller>
  void Look(const Atomic<Poller*>& poller) {
    if (!Begin()) return;
    poller.load(std::memory_order_acquire)->Poll(INT64_MIN);
    End();
  }

 private:
  bool Begin() { return !taken_.exchange(true, std::memory_order_acquire); }
  void End() { taken_.store(false, std::memory_order_release); }

  Atomic<bool> taken_{false};
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_POLL_TURN_H_
