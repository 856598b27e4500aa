#include "csp/base/spinlock.h"

#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "csp/base/thread_context.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

static_assert(!std::is_copy_constructible_v<SpinLock>);

TEST(SpinLockTest, IsOneWordAndARank) { EXPECT_LE(sizeof(SpinLock), 2u); }

TEST(SpinLockTest, CanBeAStaticConstant) {
  static constinit SpinLock lock(LockRank::kQueue);
  const std::lock_guard guard(lock);
}

TEST(SpinLockTest, TryLockSaysWhetherItWasFree) {
  SpinLock lock(LockRank::kObject);
  EXPECT_TRUE(lock.try_lock());
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  std::thread([&] {
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }).join();
}

TEST(SpinLockTest, SectionsExcludeEachOther) {
  constexpr int kThreads = 4;
  constexpr int kSections = 20'000;
  SpinLock lock(LockRank::kObject);
  int counter = 0;  // TSan, too, watches this one
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kSections; ++k) {
        const std::lock_guard guard(lock);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * kSections);
}

// More threads than processors, and holders that lose theirs inside: who waits must give way.
TEST(SpinLockTest, WaitersLetAPreemptedHolderRun) {
  constexpr int kThreads = 16;
  SpinLock lock(LockRank::kObject);
  int counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        const std::lock_guard guard(lock);
        std::this_thread::yield();
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * 20);
}

TEST(SpinLockTest, NotesItsRankWhileHeld) {
#ifdef NDEBUG
  GTEST_SKIP() << "ranks are noted in debug builds only";
#else
  SpinLock object(LockRank::kObject);
  SpinLock queue(LockRank::kQueue);
  EXPECT_EQ(CurrentThread()->held_ranks, 0u);
  {
    const std::lock_guard outer(object);
    const std::lock_guard inner(queue);
    EXPECT_EQ(CurrentThread()->held_ranks, 1u << static_cast<unsigned>(LockRank::kObject) |
                                               1u << static_cast<unsigned>(LockRank::kQueue));
  }
  EXPECT_EQ(CurrentThread()->held_ranks, 0u);
#endif
}

}  // namespace
}  // namespace csp::internal
