// The mutex: one at a time, from fibers and threads, by the standard's locks and in a select.
// mutex_wait_test.cc: those who wait for it.

#include "csp/sync/mutex.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using MutexTest = RuntimeTest;
CSP_INSTANTIATE(MutexTest);

constexpr auto kIgnore = [](const auto&...) {};

struct Account {
  Mutex mu;
  int balance ABSL_GUARDED_BY(mu) = 0;
};

TEST_P(MutexTest, ScopedLockIsAnnotated) {
  Here([] {
    Account account;
    {
      const MutexLock lock(account.mu);
      account.balance = 5;
    }
    account.mu.lock();
    EXPECT_EQ(account.balance, 5);
    account.mu.unlock();
  });
}

// What follows does more with locks than clang's analysis can follow.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

TEST_P(MutexTest, OneAtATime) {
  Here([] {
    Mutex mu;
    int inside = 0, count = 0;
    const int rounds = Rounds(2'000);
    std::vector<Task<void>> tasks;
    std::vector<std::thread> threads;
    const auto work = [&](int me) {
      for (int i = 0; i < rounds; ++i) {
        switch ((i + me) % 5) {
          case 0:
            mu.lock();
            break;
          case 1:
            while (!mu.try_lock()) Yield();
            break;
          case 2:
            ASSERT_TRUE(mu.try_lock_for(absl::Hours(1)));
            break;
          case 3:
            Select(mu.OnLock()).release();
            break;
          default:
            Select(
                mu.OnLock() >> [](std::unique_lock<Mutex> lock) { lock.release(); },
                OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
        }
        ASSERT_EQ(++inside, 1);
        ++count;
        if (i % 16 == 0) internal::Parker::Current()->Yield(true);
        --inside;
        mu.unlock();
      }
    };
    for (int t = 0; t < 6; ++t) tasks.push_back(Go([&, t] { work(t); }));
    for (int t = 0; t < 2; ++t) threads.emplace_back([&, t] { work(t); });
    for (auto& task : tasks) task.Join();
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(count, 8 * rounds);
  });
}

TEST_P(MutexTest, TryLock) {
  Here([] {
    Mutex mu;
    EXPECT_TRUE(mu.try_lock());
    EXPECT_FALSE(mu.try_lock());
    EXPECT_FALSE(mu.try_lock_for(absl::ZeroDuration()));
    EXPECT_FALSE(mu.try_lock_for(absl::Microseconds(100)));
    EXPECT_FALSE(mu.try_lock_for(std::chrono::microseconds(100)));
    EXPECT_FALSE(mu.try_lock_until(absl::InfinitePast()));
    EXPECT_FALSE(mu.try_lock_until(std::chrono::steady_clock::now()));
    bool none = false;
    Select(
        mu.OnLock() >> [](std::unique_lock<Mutex>) { ADD_FAILURE(); },
        Default >> [&] { none = true; });
    EXPECT_TRUE(none);
    mu.unlock();
    EXPECT_TRUE(mu.try_lock_until(absl::InfinitePast()));  // what is free wins over the limit
    mu.unlock();
    EXPECT_TRUE(mu.try_lock_for(absl::InfiniteDuration()));
    mu.unlock();
  });
}

TEST_P(MutexTest, WorksWithTheStandardsLocks) {
  Here([] {
    Mutex a, b;
    {
      const std::scoped_lock both(a, b);
      EXPECT_FALSE(a.try_lock());
      EXPECT_FALSE(b.try_lock());
    }
    std::unique_lock lock(a, std::defer_lock);
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
    EXPECT_TRUE(lock.try_lock_for(std::chrono::hours(1)));
    lock.unlock();
    EXPECT_TRUE(lock.try_lock_until(std::chrono::system_clock::now() + std::chrono::hours(1)));
    const std::lock_guard other(b);
  });
}

// Two fibers lock two mutexes in opposite orders by scoped_lock, which must not deadlock.
TEST_P(MutexTest, ScopedLockOfTwoInOppositeOrders) {
  Here([] {
    Mutex a, b;
    int count = 0;
    const int rounds = Rounds(1'000);
    Task<void> other = Go([&] {
      for (int i = 0; i < rounds; ++i) {
        const std::scoped_lock both(b, a);
        ++count;
        if (i % 8 == 0) Yield();
      }
    });
    for (int i = 0; i < rounds; ++i) {
      const std::scoped_lock both(a, b);
      ++count;
      if (i % 8 == 0) Yield();
    }
    other.Join();
    EXPECT_EQ(count, 2 * rounds);
  });
}

// The result of OnLock gives the lock back by itself, whatever the handler does.
TEST_P(MutexTest, OnLockGivesAGuard) {
  Here([] {
    Mutex mu;
    Select(mu.OnLock() >> [&](std::unique_lock<Mutex> lock) {
      EXPECT_TRUE(lock.owns_lock());
      EXPECT_FALSE(mu.try_lock());
    });
    EXPECT_THROW(Select(mu.OnLock() >> [](std::unique_lock<Mutex>) { throw 1; }), int);
    {
      const std::unique_lock<Mutex> lock = Select(mu.OnLock());
      EXPECT_FALSE(mu.try_lock());
    }
    ASSERT_TRUE(mu.try_lock());
    mu.unlock();
  });
}

TEST_P(MutexTest, ALostSelectLeavesNoPlaceInTheQueue) {
  Here([] {
    Mutex mu;
    auto ch = MakeChan<int>();
    for (int round = 0; round < Rounds(300); ++round) {
      mu.lock();
      Task<void> loser = Go([&] {
        Select(
            mu.OnLock() >> [](std::unique_lock<Mutex>) { ADD_FAILURE(); }, ch.OnRecv() >> kIgnore);
      });
      ch.Send(1);
      loser.Join();
      mu.unlock();
      // Were the loser in the queue still, the lock would be handed over to it.
      ASSERT_TRUE(mu.try_lock());
      mu.unlock();
    }
  });
}

TEST_P(MutexTest, OnLockOfTwo) {
  Here([] {
    for (int round = 0; round < Rounds(300); ++round) {
      Mutex a, b;
      std::atomic<bool> locked{false}, over{false};
      Task<void> owner = Go([&, round] {
        std::scoped_lock both(a, b);
        locked = true;
        Yield();
        (round % 2 == 0 ? a : b).unlock();
        while (!over.load()) Yield();
        (round % 2 == 0 ? a : b).lock();
      });
      while (!locked.load()) Yield();
      const int won = Select(
          a.OnLock() >> [](std::unique_lock<Mutex>) { return 0; },
          b.OnLock() >> [](std::unique_lock<Mutex>) { return 1; });
      EXPECT_EQ(won, round % 2);
      over = true;
      owner.Join();
    }
  });
}

TEST_P(MutexTest, BetweenFibersAndThreads) {
  Here([] {
    Mutex mu;
    int count = 0;
    const int rounds = Rounds(3'000);
    std::thread thread([&] {
      for (int i = 0; i < rounds; ++i) {
        const MutexLock lock(mu);
        ++count;
      }
    });
    for (int i = 0; i < rounds; ++i) {
      const MutexLock lock(mu);
      ++count;
    }
    thread.join();
    EXPECT_EQ(count, 2 * rounds);
  });
}

// The standard's condition variable unlocks and locks it with a lock of its own held.
TEST_P(MutexTest, WorksInConditionVariableAny) {
  Here([] {
    Mutex mu;
    std::condition_variable_any cv;
    for (int round = 0; round < Rounds(200); ++round) {
      bool ready = false;
      std::thread thread([&] {
        const std::lock_guard lock(mu);
        ready = true;
        cv.notify_one();
      });
      {
        std::unique_lock lock(mu);
        cv.wait(lock, [&] { return ready; });
      }
      thread.join();
    }
  });
}

TEST_P(MutexTest, UnlockOfAFreeMutexIsAnError) {
  Here([] {
    Mutex mu;
    try {
      mu.unlock();
      ADD_FAILURE();
    } catch (const SyncError& e) {
      EXPECT_NE(std::string(e.what()).find("Mutex::unlock"), std::string::npos) << e.what();
    }
    ASSERT_TRUE(mu.try_lock());  // it is as before
    mu.unlock();
    EXPECT_THROW(mu.unlock(), Panic);
  });
}

#ifndef NDEBUG
TEST_P(MutexTest, LockByItsOwnerIsAnErrorInDebugBuilds) {
  Here([] {
    Mutex mu;
    mu.lock();
    EXPECT_THROW(mu.lock(), SyncError);
    mu.unlock();
    const MutexLock lock(mu);
  });
}

TEST(MutexDeathTest, DestroyedWhileLocked) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        Mutex mu;
        mu.lock();
      },
      "Mutex: destroyed");
}
#endif

}  // namespace
}  // namespace csp
