// Debug builds know who has a mutex; here is who must not be taken for him.

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

// A thread that has never waited becomes known to csp as it does, perhaps by the name of the one
// that has just ended, and had the lock.
TEST(MutexOwnerTest, IsNotTakenForTheThreadBefore) {
  const Watchdog watchdog;
  constexpr int kKnown = 100;  // which are looked through on the way
  std::atomic<int> known{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < kKnown; ++i) {
    others.emplace_back([&] {
      const Shield become_known;
      ++known;
      over.wait(false);
    });
  }
  while (known != kKnown) std::this_thread::yield();
  std::atomic<int> mistaken{0};
  for (int round = 0; round < Rounds(4'000); ++round) {
    Mutex mu;
    std::atomic<bool> held{false}, wanted{false};
    std::thread before([&] {
      mu.lock();
      held = true;
      while (!wanted) std::this_thread::yield();
      for (int i = round % 500; i > 0 && wanted; --i) continue;
      mu.unlock();
    });
    std::thread after([&] {
      while (!held) std::this_thread::yield();
      wanted = true;
      try {
        const std::lock_guard lock(mu);
      } catch (const SyncError&) {
        ++mistaken;
      }
    });
    before.join();
    after.join();
  }
  over = true;
  over.notify_all();
  for (std::thread& thread : others) thread.join();
  EXPECT_EQ(mistaken, 0);
}

// The predicate is called with the mutex held, which clang's analysis cannot know.
TEST(MutexOwnerTest, AssertHeldIsForWhatIsCalledWithTheLockHeld) {
  struct Guarded {
    Mutex mu;
    bool ready ABSL_GUARDED_BY(mu) = false;
  };
  Guarded guarded;
  CondVar changed;
  Task<void> other = Go([&] {
    const MutexLock lock(guarded.mu);
    guarded.ready = true;
    changed.NotifyOne();
  });
  {
    const MutexLock lock(guarded.mu);
    changed.Wait(guarded.mu, [&] {
      guarded.mu.AssertHeld();
      return guarded.ready;
    });
  }
  other.Join();
#ifndef NDEBUG
  EXPECT_THROW(guarded.mu.AssertHeld(), SyncError);
  const MutexLock lock(guarded.mu);
  Go([&] { EXPECT_THROW(guarded.mu.AssertHeld(), SyncError); }).Join();
#endif
}

}  // namespace
}  // namespace csp
