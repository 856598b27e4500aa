#include "csp/base/lock_rank.h"

#include <cstdio>
#include <cstdlib>

#include "csp/base/thread_context.h"

namespace csp::internal {

const char* LockRankName(LockRank rank) {
  switch (rank) {
    case LockRank::kObject:
      return "object";
    case LockRank::kTimers:
      return "timers";
    case LockRank::kQueue:
      return "queue";
  }
  return "?";
}

#ifndef NDEBUG

// The ranks a thread holds are a bit set: no two locks of one rank are ever held.
void CheckLockOrder(LockRank rank) {
  const unsigned held = CurrentThread()->held_ranks;
  if (held >> static_cast<unsigned>(rank) == 0) return;
  const int highest = 31 - __builtin_clz(held);
  std::fprintf(stderr, "csp: lock order: taking '%s' while holding '%s'\n", LockRankName(rank),
               LockRankName(static_cast<LockRank>(highest)));
  if (rank == LockRank::kObject && highest == static_cast<int>(LockRank::kObject)) {
    std::fputs(
        "csp: does the move constructor or destructor of a channel's element use csp? It may run "
        "under the channel's lock\n",
        stderr);
  }
  std::abort();
}

void NoteLocked(LockRank rank) { CurrentThread()->held_ranks |= 1U << static_cast<unsigned>(rank); }

void NoteUnlocked(LockRank rank) {
  CurrentThread()->held_ranks &= ~(1U << static_cast<unsigned>(rank));
}

#endif  // NDEBUG

}  // namespace csp::internal
