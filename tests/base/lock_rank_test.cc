// The order of locks, which debug builds check. An optimized build checks nothing: there the deaths
// are skipped, and what is left is that the calls cost and change nothing.
#include "csp/base/lock_rank.h"

#include <mutex>
#include <set>
#include <string>

#include "csp/base/spinlock.h"
#include "csp/base/thread_context.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

constexpr LockRank kRanks[] = {LockRank::kObject, LockRank::kTimers, LockRank::kQueue};

TEST(LockRankTest, EachRankHasAName) {
  std::set<std::string> names;
  for (const LockRank rank : kRanks) names.insert(LockRankName(rank));
  EXPECT_EQ(names.size(), std::size(kRanks));
  EXPECT_EQ(names.count("?"), 0u);
}

TEST(LockRankTest, HigherRanksMayBeTakenUnderLowerOnes) {
  for (const LockRank lower : kRanks) {
    for (const LockRank higher : kRanks) {
      if (higher <= lower) continue;
      SpinLock outer(lower);
      SpinLock inner(higher);
      const std::lock_guard hold_outer(outer);
      const std::lock_guard hold_inner(inner);
    }
  }
}

TEST(LockRankTest, ALockMayBeTakenAgainAfterItsRelease) {
  SpinLock first(LockRank::kQueue);
  SpinLock second(LockRank::kQueue);
  { const std::lock_guard hold(first); }
  { const std::lock_guard hold(second); }
  // Released in another order than taken.
  SpinLock outer(LockRank::kObject);
  outer.lock();
  first.lock();
  outer.unlock();
  first.unlock();
  const std::lock_guard hold(outer);
}

// try_lock waits for nobody, so it may be called in any order.
TEST(LockRankTest, TryLockIsFreeOfTheOrder) {
  SpinLock queue(LockRank::kQueue);
  SpinLock object(LockRank::kObject);
  const std::lock_guard hold(queue);
  EXPECT_TRUE(object.try_lock());
  object.unlock();
}

#ifdef NDEBUG

TEST(LockRankTest, OptimizedBuildsCheckNothing) {
  CheckLockOrder(LockRank::kQueue);
  NoteLocked(LockRank::kQueue);
  EXPECT_EQ(CurrentThread()->held_ranks, 0u);
  NoteUnlocked(LockRank::kQueue);
  GTEST_SKIP() << "a wrong order is found in debug builds only (bazel test -c dbg)";
}

#else

TEST(LockRankDeathTest, AWrongOrderAbortsWithBothNames) {
  for (const LockRank held : kRanks) {
    for (const LockRank taken : kRanks) {
      if (taken > held) continue;
      SpinLock outer(held);
      SpinLock inner(taken);
      EXPECT_DEATH(
          {
            outer.lock();
            inner.lock();
          },
          std::string("taking '") + LockRankName(taken) + "' while holding '" + LockRankName(held) +
              "'");
    }
  }
}

// The highest lock held counts, not the one taken last.
TEST(LockRankDeathTest, TheHighestRankHeldIsNamed) {
  SpinLock object(LockRank::kObject);
  SpinLock queue(LockRank::kQueue);
  SpinLock timers(LockRank::kTimers);
  EXPECT_DEATH(
      {
        object.lock();
        queue.lock();
        timers.lock();
      },
      "taking 'timers' while holding 'queue'");
}

// What a user may have done to get there.
TEST(LockRankDeathTest, OfTwoObjectsTheLikelyCauseIsNamed) {
  SpinLock outer(LockRank::kObject);
  SpinLock inner(LockRank::kObject);
  EXPECT_DEATH(
      {
        outer.lock();
        inner.lock();
      },
      "does the move constructor or destructor of a channel's element use csp");
}

#endif

}  // namespace
}  // namespace csp::internal
