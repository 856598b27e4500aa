// Who waits for a mutex: first come first served within its bounds, and nothing left behind by
// whoever gives up.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "csp/csp.h"
#include "csp/sync/mutex.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using MutexWaitTest = RuntimeTest;
CSP_INSTANTIATE(MutexWaitTest);

// What follows does more with locks than clang's analysis can follow.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

// Lets others run for as long as it takes them to get into a wait, if they are to get into it.
void LetOthersRun() {
  for (int i = 0; i < 50; ++i) Yield();
}

// Who waits is served in the order of coming: with a timed wait each is handed the lock.
TEST_P(MutexWaitTest, WaitersAreServedInOrder) {
  Here([] {
    for (int round = 0; round < Rounds(50); ++round) {
      Mutex mu;
      std::vector<int> order;
      mu.lock();
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 8; ++i) {
        std::atomic<bool> at_it{false};
        tasks.push_back(Go([&, i] {
          at_it = true;
          ASSERT_TRUE(mu.try_lock_for(absl::Hours(1)));
          order.push_back(i);
          mu.unlock();
        }));
        while (!at_it.load()) Yield();
        // One who is in the queue shows there.
        ASSERT_TRUE(EventuallyTrue([&] {
          const std::string dump = DumpFibers();
          std::size_t waiting = 0;
          for (std::size_t at = 0; (at = dump.find("mutex Lock on", at)) != std::string::npos; ++at)
            ++waiting;
          return waiting == static_cast<std::size_t>(i + 1);
        })) << DumpFibers();
      }
      mu.unlock();
      for (auto& task : tasks) task.Join();
      EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    }
  });
}

// A fiber that locks again and again passes over the one who waits a bounded number of times, also
// where that one could run on no other worker. Turns are counted, not time.
TEST(MutexFairnessTest, AWaiterIsPassedOverABoundedNumberOfTimes) {
  for (const bool waits_inside : {false, true}) {
    RunAt(Place{1}, [waits_inside] {
      Mutex mu;
      std::atomic<bool> done{false};
      long passes = 0;
      mu.lock();
      Task<void> waiter = Go([&] {
        mu.lock();
        done = true;
        mu.unlock();
      });
      LetOthersRun();  // it waits by now: there is one worker
      mu.unlock();
      while (!done.load()) {
        mu.lock();
        ++passes;
        if (waits_inside) Yield();
        mu.unlock();
        ASSERT_LE(passes, 10'000);
      }
      waiter.Join();
      EXPECT_LE(passes, waits_inside ? 3 : 4'098);
    });
  }
}

// Several who never let go of it for long: nobody is left behind by more than the bound.
TEST_P(MutexWaitTest, NobodyStarves) {
  Here([] {
    Mutex mu;
    constexpr int kTasks = 6;
    std::atomic<int> left{kTasks};
    std::vector<long> turns(kTasks);
    const long goal = Rounds(400);
    std::vector<Task<void>> tasks;
    for (int t = 0; t < kTasks; ++t) {
      tasks.push_back(Go([&, t] {
        bool counted = false;
        while (left.load() > 0) {
          mu.lock();
          ++turns[t];
          if (turns[t] % 4 == 0) Yield();
          mu.unlock();
          if (!counted && turns[t] >= goal) {
            counted = true;
            --left;
          }
        }
      }));
    }
    for (auto& task : tasks) task.Join();  // all come to their goal: the watchdog says if not
  });
}

TEST_P(MutexWaitTest, LockIsNoCancellationPoint) {
  Here([] {
    Mutex mu;
    mu.lock();
    std::atomic<int> stage{0};
    Task<void> task = Go([&] {
      stage = 1;
      mu.lock();  // cancelled while it waits, or before
      stage = 2;
      EXPECT_THROW((void)mu.try_lock_for(absl::Hours(1)), Cancelled);
      EXPECT_THROW(Select(mu.OnLock() >> [](std::unique_lock<Mutex>) { ADD_FAILURE(); }),
                   Cancelled);
      mu.unlock();
      mu.lock();
      mu.unlock();
      EXPECT_THROW((void)mu.try_lock_for(absl::ZeroDuration()), Cancelled);
      EXPECT_TRUE(mu.try_lock());
      mu.unlock();
    });
    while (stage.load() == 0) Yield();
    LetOthersRun();
    task.Cancel();
    LetOthersRun();
    EXPECT_EQ(stage.load(), 1);
    mu.unlock();
    task.Join();
    EXPECT_EQ(stage.load(), 2);
  });
}

// Waits are cancelled at the head, the middle and the tail of the queue; the lock still goes round.
TEST_P(MutexWaitTest, CancelStorm) {
  Here([] {
    Mutex mu;
    for (int round = 0; round < Rounds(60); ++round) {
      constexpr int kTasks = 24;
      mu.lock();
      int got = 0;
      std::atomic<int> begun{0};
      std::vector<Task<void>> tasks;
      for (int i = 0; i < kTasks; ++i) {
        tasks.push_back(Go([&, i] {
          ++begun;
          if (i % 3 == 0) {
            mu.lock();
          } else if (i % 3 == 1) {
            if (!mu.try_lock_for(absl::Hours(1))) return ADD_FAILURE() << "an hour?", void();
          } else {
            Select(mu.OnLock()).release();
          }
          ++got;
          mu.unlock();
        }));
      }
      while (begun.load() < kTasks) Yield();
      for (int i = round % 3; i > 0; --i) LetOthersRun();
      for (int i = 0; i < kTasks; ++i) {
        const int which = (i * 7 + round) % kTasks;
        if (which % 2 == 0) tasks[which].Cancel();
        if (i == kTasks / 2) mu.unlock();
      }
      int cancelled = 0;
      for (auto& task : tasks) {
        try {
          task.Join();
        } catch (const TaskCancelled&) {
          ++cancelled;
        }
      }
      ASSERT_EQ(got + cancelled, kTasks);
      ASSERT_TRUE(mu.try_lock());
      mu.unlock();
    }
  });
}

// Limits that pass at about the time when the lock is given back: had or not had, never both.
TEST_P(MutexWaitTest, TimeoutMeetsUnlock) {
  Here([] {
    Mutex mu;
    int held = 0;
    std::atomic<bool> over{false};
    const int rounds = Rounds(1'000);
    Task<void> holder = Go([&] {
      while (!over.load()) {
        mu.lock();
        ASSERT_EQ(++held, 1);
        csp::SleepFor(absl::Microseconds(20));
        --held;
        mu.unlock();
        Yield();
      }
    });
    std::vector<Task<void>> tasks;
    for (int t = 0; t < 3; ++t) {
      tasks.push_back(Go([&, t] {
        for (int i = 0; i < rounds / 3; ++i) {
          if (!mu.try_lock_for(absl::Microseconds(10 + i % 20 + t))) continue;
          ASSERT_EQ(++held, 1);
          --held;
          mu.unlock();
        }
      }));
    }
    for (auto& task : tasks) task.Join();
    over = true;
    holder.Join();
  });
}

// Whoever has got the lock may destroy the mutex, even while the unlock that woke him is on its
// way.
TEST_P(MutexWaitTest, MayBeDestroyedByWhomItWoke) {
  Here([] {
    for (int round = 0; round < Rounds(2'000); ++round) {
      auto mu = std::make_unique<Mutex>();
      std::atomic<bool> locked{false};
      Task<void> unlocker = Go([&locked, raw = mu.get()] {
        raw->lock();
        locked = true;
        for (int i = 0; i < 3; ++i) Yield();
        raw->unlock();
      });
      while (!locked.load()) Yield();
      switch (round % 4) {
        case 0:
          mu->lock();
          break;
        case 1:
          ASSERT_TRUE(mu->try_lock_for(absl::Hours(1)));
          break;
        case 2:
          Select(mu->OnLock()).release();
          break;
        default:
          while (!mu->try_lock()) Yield();
      }
      mu->unlock();
      mu.reset();
      unlocker.Join();
    }
  });
}

}  // namespace
}  // namespace csp
