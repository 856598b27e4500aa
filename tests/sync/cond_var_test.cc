// The condition variable: a notification wakes exactly one, fiber or thread; limits and
// cancellations that meet it neither lose nor double it; the mutex is held on every way out.

#include "csp/sync/cond_var.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using CondVarTest = RuntimeTest;
CSP_INSTANTIATE(CondVarTest);

// What follows does more with locks than clang's analysis can follow.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

void LetOthersRun() {
  for (int i = 0; i < 50; ++i) Yield();
}

TEST_P(CondVarTest, NotifyEndsAWait) {
  Here([] {
    Mutex mu;
    CondVar cv;
    for (int round = 0; round < Rounds(500); ++round) {
      bool ready = false;
      Task<void> task = Go([&] {
        const MutexLock lock(mu);
        ready = true;
        cv.NotifyOne();
      });
      {
        const MutexLock lock(mu);
        while (!ready) cv.Wait(mu);
      }
      task.Join();
    }
  });
}

TEST_P(CondVarTest, WorksWithUniqueLockAndPredicates) {
  Here([] {
    Mutex mu;
    CondVar cv;
    int stage = 0;
    Task<void> task = Go([&] {
      for (int i = 0; i < 5; ++i) {
        const std::lock_guard lock(mu);
        ++stage;
        cv.NotifyAll();
      }
    });
    std::unique_lock lock(mu);
    cv.Wait(lock, [&] { return stage > 0; });
    cv.Wait(mu, [&] { return stage > 1; });
    EXPECT_TRUE(cv.WaitFor(lock, absl::Hours(1), [&] { return stage > 2; }));
    EXPECT_TRUE(cv.WaitUntil(lock, absl::InfiniteFuture(), [&] { return stage > 3; }));
    while (stage < 5) cv.Wait(lock);
    EXPECT_FALSE(cv.WaitFor(lock, absl::Microseconds(100), [] { return false; }));
    EXPECT_FALSE(cv.WaitFor(lock, absl::ZeroDuration(), [] { return false; }));
    EXPECT_TRUE(cv.WaitFor(lock, absl::ZeroDuration(), [] { return true; }));
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(mu.try_lock());
    lock.unlock();
    task.Join();
  });
}

TEST_P(CondVarTest, AWaitForNothingGivesTheMutexAway) {
  Here([] {
    Mutex mu;
    CondVar cv;
    bool ready = false;
    mu.lock();
    Task<void> task = Go([&] {
      const MutexLock lock(mu);
      ready = true;
    });
    while (!ready) EXPECT_FALSE(cv.WaitFor(mu, absl::ZeroDuration())), Yield();
    mu.unlock();
    task.Join();
  });
}

TEST_P(CondVarTest, NotifyWithoutWaitersIsNotKept) {
  Here([] {
    Mutex mu;
    CondVar cv;
    cv.NotifyOne();
    cv.NotifyAll();
    const MutexLock lock(mu);
    EXPECT_FALSE(cv.WaitFor(mu, absl::Microseconds(50)));
  });
}

// As many notifications as waits, waiters of both kinds: each ends exactly one.
TEST_P(CondVarTest, NotifyOneWakesExactlyOne) {
  Here([] {
    for (int round = 0; round < Rounds(30); ++round) {
      Mutex mu;
      CondVar cv;
      constexpr int kFibers = 4, kThreads = 3;
      int waiting = 0;
      std::atomic<int> woken{0};
      const auto wait = [&] {
        const MutexLock lock(mu);
        ++waiting;
        cv.Wait(mu);  // no loop: whoever comes back has been woken
        ++woken;
      };
      std::vector<Task<void>> fibers;
      std::vector<std::thread> threads;
      for (int i = 0; i < kFibers; ++i) fibers.push_back(Go(wait));
      for (int i = 0; i < kThreads; ++i) threads.emplace_back(wait);
      // Who has counted himself under the mutex is linked before it is free again.
      ASSERT_TRUE(EventuallyTrue([&] {
        const MutexLock lock(mu);
        return waiting == kFibers + kThreads;
      }));
      for (int i = 0; i < kFibers + kThreads; ++i) {
        cv.NotifyOne();
        ASSERT_TRUE(EventuallyTrue([&] { return woken.load() == i + 1; }));
        for (int turn = 0; turn < 5; ++turn) Yield();
        ASSERT_EQ(woken.load(), i + 1);
      }
      for (auto& fiber : fibers) fiber.Join();
      for (auto& thread : threads) thread.join();
    }
  });
}

TEST_P(CondVarTest, WakesInTheOrderOfComing) {
  Here([] {
    Mutex mu;
    CondVar cv;
    int waiting = 0;
    std::vector<int> order;
    std::vector<Task<void>> tasks;
    for (int i = 0; i < 6; ++i) {
      tasks.push_back(Go([&, i] {
        const MutexLock lock(mu);
        ++waiting;
        cv.Wait(mu);
        order.push_back(i);
      }));
      ASSERT_TRUE(EventuallyTrue([&] {
        const MutexLock lock(mu);
        return waiting == i + 1;
      }));
    }
    for (std::size_t i = 0; i < 6; ++i) {
      cv.NotifyOne();
      ASSERT_TRUE(EventuallyTrue([&] {
        const MutexLock lock(mu);
        return order.size() == i + 1;
      }));
    }
    for (auto& task : tasks) task.Join();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  });
}

TEST_P(CondVarTest, NotifyAllWakesAll) {
  Here([] {
    for (int round = 0; round < Rounds(100); ++round) {
      Mutex mu;
      CondVar cv;
      int waiting = 0;
      bool go = false;
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 10; ++i) {
        tasks.push_back(Go([&, i] {
          std::unique_lock lock(mu);
          ++waiting;
          if (i % 2 == 0) {
            cv.Wait(lock, [&] { return go; });
          } else {
            EXPECT_TRUE(cv.WaitFor(lock, absl::Hours(1), [&] { return go; }));
          }
        }));
      }
      ASSERT_TRUE(EventuallyTrue([&] {
        const MutexLock lock(mu);
        return waiting >= 10 - round % 3;
      }));
      {
        const MutexLock lock(mu);
        go = true;
      }
      cv.NotifyAll();
      for (auto& task : tasks) task.Join();
    }
  });
}

// A bounded buffer, the classic: nothing is lost, nobody sleeps for ever.
TEST_P(CondVarTest, BoundedBuffer) {
  Here([] {
    Mutex mu;
    CondVar not_empty, not_full;
    std::deque<int> buffer;
    const int items = Rounds(3'000);
    long sum = 0;
    std::atomic<int> taken{0};
    std::vector<Task<void>> tasks;
    for (int t = 0; t < 3; ++t) {
      tasks.push_back(Go([&, t] {
        for (int i = t; i < items; i += 3) {
          const MutexLock lock(mu);
          while (buffer.size() == 4) not_full.Wait(mu);
          buffer.push_back(i);
          not_empty.NotifyOne();
        }
      }));
      tasks.push_back(Go([&, t] {
        for (int i = t; i < items; i += 3) {
          const MutexLock lock(mu);
          not_empty.Wait(mu, [&] { return !buffer.empty(); });
          sum += buffer.front();
          buffer.pop_front();
          ++taken;
          not_full.NotifyOne();
        }
      }));
    }
    for (auto& task : tasks) task.Join();
    EXPECT_EQ(taken.load(), items);
    EXPECT_EQ(sum, static_cast<long>(items) * (items - 1) / 2);
  });
}

// Field report B3: limits that run out as notifications come, by a thread of its own. Each token
// that is given is taken by one: a notification that a wait has lost to its limit goes to the next.
TEST_P(CondVarTest, TimeoutMeetsNotify) {
  Here([] {
    Mutex mu;
    CondVar cv;
    long tokens = 0, taken = 0;
    bool over = false;
    // Over all places 10^5, as a soak test 10^7.
    const int rounds = Rounds(20'000) * (kSoak ? 2 : 1);
    std::vector<Task<void>> waiters;
    for (int t = 0; t < 4; ++t) {
      waiters.push_back(Go([&, t] {
        const MutexLock lock(mu);
        for (int i = 0; !over || tokens > 0; ++i) {
          // One with a limit, one without: the latter depends on no notification being lost.
          if (t == 0) {
            cv.Wait(mu, [&] { return over || tokens > 0; });
          } else {
            (void)cv.WaitFor(mu, absl::Microseconds(i % 40));
          }
          if (tokens > 0) --tokens, ++taken;
        }
      }));
    }
    std::thread notifier([&] {
      for (int i = 0; i < rounds; ++i) {
        {
          const MutexLock lock(mu);
          ++tokens;
        }
        cv.NotifyOne();
        if (i % 7 == 0) std::this_thread::yield();
      }
      {
        const MutexLock lock(mu);
        over = true;
      }
      cv.NotifyAll();
    });
    for (auto& waiter : waiters) waiter.Join();
    notifier.join();
    EXPECT_EQ(taken, rounds);
    EXPECT_EQ(tokens, 0);
  });
}

// A notification that came before a cancellation counts; one that came after it goes to another.
TEST_P(CondVarTest, CancelMeetsNotify) {
  Here([] {
    for (int round = 0; round < Rounds(400); ++round) {
      Mutex mu;
      CondVar cv;
      int waiting = 0, woken = 0;
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 2; ++i) {
        tasks.push_back(Go([&] {
          const MutexLock lock(mu);
          ++waiting;
          cv.Wait(mu);
          ++woken;
        }));
      }
      ASSERT_TRUE(EventuallyTrue([&] {
        const MutexLock lock(mu);
        return waiting == 2;
      }));
      Task<void> canceller = Go([&] { tasks[0].Cancel(); });
      for (int i = 0; i < round % 4; ++i) Yield();
      cv.NotifyOne();
      canceller.Join();
      // One of the two has been woken by it. If it is the first, the second waits still.
      bool cancelled = false;
      try {
        tasks[0].Join();
      } catch (const TaskCancelled&) {
        cancelled = true;
      }
      if (!cancelled) cv.NotifyOne();
      tasks[1].Join();
      EXPECT_EQ(woken, cancelled ? 1 : 2);
    }
  });
}

TEST_P(CondVarTest, ACancelledWaitHoldsTheMutex) {
  Here([] {
    Mutex mu;
    CondVar cv;
    std::atomic<int> stage{0};
    Task<void> task = Go([&] {
      for (int i = 0; i < 3; ++i) {
        std::unique_lock lock(mu);
        if (i == 0) stage = 1;
        EXPECT_THROW(
            {
              if (i == 2) {
                (void)cv.WaitFor(lock, absl::Hours(1));
              } else {
                cv.Wait(lock);
              }
            },
            Cancelled);
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_FALSE(mu.try_lock());
      }
      stage = 2;
    });
    ASSERT_TRUE(EventuallyTrue([&] {
      const MutexLock lock(mu);
      return stage.load() == 1;
    }));
    mu.lock();
    task.Cancel();  // it must have the mutex to go on
    LetOthersRun();
    EXPECT_EQ(stage.load(), 1);
    mu.unlock();
    task.Join();
    EXPECT_EQ(stage.load(), 2);
    cv.NotifyOne();
  });
}

// Field report F3: waiters cancelled from the head, the middle and the tail; then it works as
// before.
TEST_P(CondVarTest, CancelStorm) {
  Here([] {
    Mutex mu;
    CondVar cv;
    for (int round = 0; round < Rounds(40); ++round) {
      constexpr int kTasks = 30;
      int waiting = 0, woken = 0;
      bool go = false;
      std::vector<Task<void>> tasks;
      for (int i = 0; i < kTasks; ++i) {
        tasks.push_back(Go([&, i] {
          const MutexLock lock(mu);
          ++waiting;
          if (i % 2 == 0) {
            while (!go) cv.Wait(mu);
          } else {
            while (!go) (void)cv.WaitFor(mu, absl::Hours(1));
          }
          ++woken;
        }));
      }
      ASSERT_TRUE(EventuallyTrue([&] {
        const MutexLock lock(mu);
        return waiting == kTasks;
      }));
      for (int i = 0; i < kTasks; ++i) {
        if (i % 3 != 0) tasks[(i * 7) % kTasks].Cancel();
        if (i == kTasks / 2) cv.NotifyOne();
      }
      {
        const MutexLock lock(mu);
        go = true;
      }
      cv.NotifyAll();
      int cancelled = 0;
      for (auto& task : tasks) {
        try {
          task.Join();
        } catch (const TaskCancelled&) {
          ++cancelled;
        }
      }
      ASSERT_EQ(woken + cancelled, kTasks);
    }
  });
}

TEST_P(CondVarTest, MayBeDestroyedByTheLastOneWoken) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      Mutex mu;
      auto cv = std::make_unique<CondVar>();
      bool ready = false;
      std::unique_lock lock(mu);  // so the task has its turn once this one waits
      Task<void> task = Go([&, raw = cv.get()] {
        {
          const MutexLock its_lock(mu);
          ready = true;
        }
        if (round % 2 == 0) {
          raw->NotifyOne();
        } else {
          raw->NotifyAll();
        }
      });
      while (!ready) cv->Wait(lock);
      cv.reset();
      lock.unlock();
      task.Join();
    }
  });
}

TEST_P(CondVarTest, Misuse) {
  Here([] {
    Mutex mu;
    CondVar cv;
    EXPECT_THROW(cv.Wait(mu), SyncError);
    std::unique_lock lock(mu, std::defer_lock);
    try {
      cv.Wait(lock);
      ADD_FAILURE();
    } catch (const Panic& e) {
      EXPECT_NE(std::string(e.what()).find("CondVar::Wait"), std::string::npos) << e.what();
    }
    EXPECT_THROW((void)cv.WaitFor(lock, absl::Seconds(1)), SyncError);
    EXPECT_TRUE(mu.try_lock());
    mu.unlock();
  });
}

}  // namespace
}  // namespace csp
