// csp/base/spinlock under every interleaving.
#include <mutex>

#include "csp/base/spinlock.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

class SpinLockModelTest : public ::testing::TestWithParam<Model::Memory> {};

// The counter is no atomic: the model finds a data race on it if lock and
// unlock do not order the sections, and a wrong sum if two run at once.
TEST_P(SpinLockModelTest, SectionsExcludeEachOther) {
  const Model model({.memory = GetParam()});
  const Model::Result result = model.Explore([](ModelRun& run) {
    SpinLock lock(LockRank::kObject);
    ModelPlain<int> counter(0);
    run.Name(lock, "lock");
    for (int i = 0; i < 3; ++i) {
      run.Thread([&] {
        const std::lock_guard guard(lock);
        counter.Write(counter.Read() + 1);
      });
    }
    run.Join();
    run.Check(counter.Read() == 3, "an update was lost");
  });
  EXPECT_TRUE(result.ok) << result;
  EXPECT_GT(result.executions, 1u);
}

TEST_P(SpinLockModelTest, TryLockNeverEntersALockedSection) {
  const Model model({.memory = GetParam()});
  bool both = false;
  bool one = false;
  const Model::Result result = model.Explore([&](ModelRun& run) {
    SpinLock lock(LockRank::kObject);
    ModelPlain<int> counter(0);
    bool tried = false;
    run.Thread([&] {
      const std::lock_guard guard(lock);
      counter.Write(counter.Read() + 1);
    });
    run.Thread([&] {
      tried = lock.try_lock();
      if (!tried) return;
      counter.Write(counter.Read() + 1);
      lock.unlock();
    });
    run.Join();
    (tried ? both : one) = true;
    run.Check(counter.Read() == (tried ? 2 : 1), "a section was not exclusive");
    run.Check(lock.try_lock(), "the lock was left locked");
    lock.unlock();
  });
  EXPECT_TRUE(result.ok) << result;
  EXPECT_TRUE(both);
  EXPECT_TRUE(one);
}

INSTANTIATE_TEST_SUITE_P(Memory, SpinLockModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

// Each model thread has its own set of held ranks, although all run on one OS
// thread; so the order of locks is checked in models as well.
TEST(SpinLockModelDeathTest, LocksOfOneRankAreNeverHeldTogether) {
  auto explore = [] {
    return Model().Explore([](ModelRun& run) {
      SpinLock first(LockRank::kQueue);
      SpinLock second(LockRank::kQueue);
      run.Thread([&] {
        const std::lock_guard guard(first);
        const std::lock_guard again(second);
      });
      run.Join();
    });
  };
#ifdef NDEBUG
  EXPECT_TRUE(explore().ok);
#else
  EXPECT_DEATH(explore(), "taking 'queue' while holding 'queue'");
#endif
}

}  // namespace
}  // namespace csp::internal
