// The order in which spinlocks may be taken; checked in debug builds.
//
// A thread may take a lock only if its rank is higher than that of every lock it holds. Nobody
// ever holds two locks of one rank: "nobody holds two object locks" (docs/select.md) is this rule
// for kObject. A violation aborts with the names of both locks.
#ifndef CSP_BASE_LOCK_RANK_H_
#define CSP_BASE_LOCK_RANK_H_

#include <cstdint>

namespace csp::internal {

enum class LockRank : std::uint8_t {
  kObject,  // what is waited for: channel, event, task, timer value
  kTimers,  // one worker's timer heap
  kQueue,   // newborns, inbox, inject queue
};

const char* LockRankName(LockRank rank);

#ifdef NDEBUG
inline void CheckLockOrder(LockRank) {}
inline void NoteLocked(LockRank) {}
inline void NoteUnlocked(LockRank) {}
#else
// Aborts if the calling thread holds a lock of this or a higher rank.
void CheckLockOrder(LockRank rank);
void NoteLocked(LockRank rank);
void NoteUnlocked(LockRank rank);
#endif

}  // namespace csp::internal

#endif  // CSP_BASE_LOCK_RANK_H_
