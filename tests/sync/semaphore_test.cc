// The semaphore: permits are conserved whatever gives up, and the line is kept to: nobody
// overtakes.

#include "csp/sync/semaphore.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SemaphoreTest = RuntimeTest;
CSP_INSTANTIATE(SemaphoreTest);

constexpr auto kIgnore = [](const auto&...) {};

void LetOthersRun() {
  for (int i = 0; i < 50; ++i) Yield();
}

// As many as wait for a semaphore, by the dump.
int WaitingForSemaphores() {
  const std::string dump = DumpFibers();
  int count = 0;
  for (std::size_t at = 0; (at = dump.find("semaphore Acquire on", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

TEST_P(SemaphoreTest, TakesAndGivesBack) {
  Here([] {
    Semaphore semaphore(5);
    EXPECT_EQ(semaphore.size(), 5);
    EXPECT_EQ(semaphore.available(), 5);
    semaphore.Acquire();
    semaphore.Acquire(3);
    EXPECT_EQ(semaphore.available(), 1);
    EXPECT_FALSE(semaphore.TryAcquire(2));
    EXPECT_FALSE(semaphore.AcquireFor(absl::ZeroDuration(), 2));
    EXPECT_FALSE(semaphore.AcquireFor(absl::Microseconds(50), 2));
    EXPECT_FALSE(semaphore.AcquireUntil(absl::InfinitePast(), 2));
    EXPECT_TRUE(semaphore.AcquireUntil(absl::InfinitePast(), 1));
    EXPECT_TRUE(semaphore.TryAcquire(0));
    EXPECT_EQ(semaphore.available(), 0);
    bool none = false;
    Select(
        semaphore.OnAcquire() >> [] { ADD_FAILURE(); }, Default >> [&] { none = true; });
    EXPECT_TRUE(none);
    semaphore.Release(5);
    Select(semaphore.OnAcquire(5));
    EXPECT_EQ(semaphore.available(), 0);
    semaphore.Release(2);
    semaphore.Release(3);
    EXPECT_EQ(semaphore.available(), 5);
  });
}

TEST_P(SemaphoreTest, CountsWhatIsProduced) {
  Here([] {
    const int items = Rounds(2'000);
    Semaphore produced(items, 0);
    std::vector<Task<void>> tasks;
    std::atomic<int> consumed{0};
    for (int t = 0; t < 4; ++t) {
      tasks.push_back(Go([&, t] {
        for (int i = t; i < items; i += 4) {
          produced.Acquire();
          ++consumed;
        }
      }));
    }
    std::thread producer([&] {
      for (int i = 0; i < items; ++i) produced.Release();
    });
    for (auto& task : tasks) task.Join();
    producer.join();
    EXPECT_EQ(consumed.load(), items);
    EXPECT_EQ(produced.available(), 0);
  });
}

// Field report B8: the head wants 3, the next 1, and there is 1. The line is kept to.
TEST_P(SemaphoreTest, NobodyOvertakes) {
  Here([] {
    Semaphore semaphore(4, 0);
    std::vector<int> order;
    std::vector<Task<void>> tasks;
    const std::int64_t weights[] = {3, 1, 2, 1};
    for (int i = 0; i < 4; ++i) {
      tasks.push_back(Go([&, i] {
        semaphore.Acquire(weights[i]);
        order.push_back(i);
      }));
      ASSERT_TRUE(EventuallyTrue([&] { return WaitingForSemaphores() == i + 1; })) << DumpFibers();
    }
    semaphore.Release(1);
    EXPECT_FALSE(semaphore.TryAcquire(1));  // there is one, but others were first
    EXPECT_FALSE(semaphore.AcquireFor(absl::ZeroDuration(), 1));
    Select(
        semaphore.OnAcquire() >> [] { ADD_FAILURE(); }, OnTimeout(absl::Microseconds(100)));
    LetOthersRun();
    EXPECT_EQ(WaitingForSemaphores(), 4);
    semaphore.Release(2);
    tasks[0].Join();
    EXPECT_EQ(WaitingForSemaphores(), 3);
    semaphore.Release(1);
    tasks[1].Join();
    semaphore.Release(2);
    tasks[2].Join();
    semaphore.Release(1);
    tasks[3].Join();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(semaphore.available(), 0);
  });
}

// When the head gives up, those behind him have their turn without another Release.
TEST_P(SemaphoreTest, TheLineMovesUpWhenTheHeadGivesUp) {
  Here([] {
    for (int round = 0; round < Rounds(100); ++round) {
      Semaphore semaphore(4, 2);
      auto quit = MakeChan<int>();
      std::atomic<bool> served{false}, begun{false};
      Task<void> head = Go([&] {
        begun = true;
        switch (round % 3) {
          case 0:
            EXPECT_THROW(semaphore.Acquire(3), Cancelled);
            break;
          case 1:
            EXPECT_FALSE(semaphore.AcquireFor(absl::Milliseconds(1), 3));
            break;
          default:
            Select(
                semaphore.OnAcquire(3) >> [] { ADD_FAILURE(); }, quit.OnRecv() >> kIgnore);
        }
      });
      while (!begun.load()) Yield();
      LetOthersRun();
      Task<void> next = Go([&] {
        semaphore.Acquire(2);
        served = true;
      });
      LetOthersRun();
      if (round % 3 == 0) head.Cancel();
      if (round % 3 == 2) quit.Send(1);
      next.Join();
      head.Join();
      EXPECT_TRUE(served.load());
      EXPECT_EQ(semaphore.available(), 0);
    }
  });
}

// Who wants all is not starved by those who want one each and never cease: counted in turns.
TEST(SemaphoreFairnessTest, TheLargeOneHasItsTurn) {
  RunAt(Place{1}, [] {
    Semaphore semaphore(4);
    std::atomic<bool> done{false};
    std::vector<Task<void>> small;
    long turns = 0;
    long turns_at_begin = 0, turns_at_end = 0;
    for (int t = 0; t < 6; ++t) {
      small.push_back(Go([&] {
        while (!done.load()) {
          semaphore.Acquire();
          ++turns;
          Yield();
          semaphore.Release();
        }
      }));
    }
    for (int i = 0; i < 5; ++i) LetOthersRun();
    turns_at_begin = turns;
    semaphore.Acquire(4);
    turns_at_end = turns;
    semaphore.Release(4);
    done = true;
    for (auto& task : small) task.Join();
    // Those that were in the line before it: six at most.
    EXPECT_LE(turns_at_end - turns_at_begin, 6);
    EXPECT_EQ(semaphore.available(), 4);
  });
}

TEST_P(SemaphoreTest, NeverMoreInsideThanPermits) {
  Here([] {
    constexpr std::int64_t kSize = 7;
    Semaphore semaphore(kSize);
    std::atomic<std::int64_t> inside{0};
    const int rounds = Rounds(1'000);
    std::vector<Task<void>> tasks;
    for (int t = 0; t < 6; ++t) {
      tasks.push_back(Go([&, t] {
        for (int i = 0; i < rounds; ++i) {
          const std::int64_t weight = 1 + (i * 5 + t) % kSize;
          switch ((i + t) % 4) {
            case 0:
              semaphore.Acquire(weight);
              break;
            case 1:
              while (!semaphore.TryAcquire(weight)) Yield();
              break;
            case 2:
              ASSERT_TRUE(semaphore.AcquireFor(absl::Hours(1), weight));
              break;
            default:
              Select(semaphore.OnAcquire(weight));
          }
          ASSERT_LE(inside += weight, kSize);
          if (i % 4 == 0) Yield();
          inside -= weight;
          semaphore.Release(weight);
        }
      }));
    }
    for (auto& task : tasks) task.Join();
    EXPECT_EQ(semaphore.available(), kSize);
  });
}

// Limits and cancellations against releases: at the end every permit is there.
TEST_P(SemaphoreTest, StormsLeaveThePermitsExact) {
  Here([] {
    for (int round = 0; round < Rounds(30); ++round) {
      constexpr std::int64_t kSize = 3;
      Semaphore semaphore(kSize);
      constexpr int kTasks = 24;
      std::vector<Task<void>> tasks;
      for (int t = 0; t < kTasks; ++t) {
        tasks.push_back(Go([&, t] {
          for (int i = 0; i < 30; ++i) {
            const std::int64_t weight = 1 + (i + t) % kSize;
            bool got = false;
            switch (t % 3) {
              case 0:
                semaphore.Acquire(weight);
                got = true;
                break;
              case 1:
                got = semaphore.AcquireFor(absl::Microseconds((i + t) % 30), weight);
                break;
              default:
                got = Select(
                    semaphore.OnAcquire(weight) >> [] { return true; },
                    OnTimeout(absl::Microseconds(i % 20)) >> [] { return false; });
            }
            if (!got) continue;
            const Shield shield;
            if (i % 2 == 0) Yield();
            semaphore.Release(weight);
          }
        }));
      }
      for (int i = 0; i < round % 5; ++i) Yield();
      for (int t = 0; t < kTasks; ++t) {
        if (t % 2 == 0) tasks[(t * 7) % kTasks].Cancel();
        if (t % 4 == 0) Yield();
      }
      for (auto& task : tasks) {
        try {
          task.Join();
        } catch (const TaskCancelled&) {
        }
      }
      ASSERT_EQ(semaphore.available(), kSize);
      ASSERT_TRUE(semaphore.TryAcquire(kSize));  // and nobody is in the line
    }
  });
}

// Limits that run out as permits come, by a thread of its own: each permit is taken by one, or is
// there. Over all places 10^5, as a soak test 10^7.
TEST_P(SemaphoreTest, TimeoutMeetsRelease) {
  Here([] {
    const int permits = Rounds(20'000) * (kSoak ? 2 : 1);
    Semaphore semaphore(permits, 0);
    std::atomic<int> taken{0};
    std::atomic<bool> over{false};
    std::vector<Task<void>> takers;
    for (int t = 0; t < 4; ++t) {
      takers.push_back(Go([&, t] {
        for (int i = t; !over.load(); ++i) {
          bool got = true;
          switch (t) {
            case 0:
              semaphore.Acquire();  // depends on no permit being lost to a limit
              break;
            case 1:
              got = Select(
                  semaphore.OnAcquire() >> [] { return true; },
                  OnTimeout(absl::Microseconds(i % 20)) >> [] { return false; });
              break;
            default:
              got = semaphore.AcquireFor(absl::Microseconds(i % 40));
          }
          if (got) ++taken;
        }
      }));
    }
    Event all_released;
    std::thread releaser([&] {
      for (int i = 0; i < permits; ++i) {
        semaphore.Release();
        while (semaphore.available() > i % 7) std::this_thread::yield();
      }
      all_released.Set();
    });
    all_released.Wait();
    releaser.join();
    EXPECT_TRUE(EventuallyTrue([&] { return semaphore.available() == 0; }));
    over = true;
    takers[0].Cancel();
    for (auto& taker : takers) {
      try {
        taker.Join();
      } catch (const TaskCancelled&) {
      }
    }
    EXPECT_EQ(taken.load(), permits);
    EXPECT_EQ(semaphore.available(), 0);
  });
}

TEST_P(SemaphoreTest, ACancelledAcquireHasTakenNothing) {
  Here([] {
    Semaphore semaphore(2);
    std::atomic<bool> begun{false};
    Task<void> task = Go([&] {
      begun = true;
      while (true) {
        try {
          semaphore.Acquire(1);
        } catch (const Cancelled&) {
          break;
        }
        semaphore.Release(1);
        internal::Parker::Current()->Yield(true);
      }
      EXPECT_THROW(semaphore.Acquire(), Cancelled);
      EXPECT_THROW((void)semaphore.AcquireFor(absl::Hours(1)), Cancelled);
      EXPECT_THROW(Select(semaphore.OnAcquire()), Cancelled);
      EXPECT_TRUE(semaphore.TryAcquire(2));
      semaphore.Release(2);
    });
    while (!begun.load()) Yield();
    task.Cancel();
    task.Join();
    EXPECT_EQ(semaphore.available(), 2);
  });
}

// Two cases of one select in one line: the one that can be had is taken.
TEST_P(SemaphoreTest, TwiceInOneSelect) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      Semaphore semaphore(2, 0);
      Task<void> releaser = Go([&] {
        semaphore.Release();
        semaphore.Release();
      });
      const std::int64_t got = Select(
          semaphore.OnAcquire(2) >> [] { return 2; }, semaphore.OnAcquire(1) >> [] { return 1; });
      releaser.Join();
      EXPECT_EQ(semaphore.available(), 2 - got);
    }
  });
}

TEST_P(SemaphoreTest, MayBeDestroyedByWhomItWoke) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto semaphore = std::make_unique<Semaphore>(1, 0);
      Task<void> releaser = Go([raw = semaphore.get()] { raw->Release(); });
      switch (round % 3) {
        case 0:
          semaphore->Acquire();
          break;
        case 1:
          ASSERT_TRUE(semaphore->AcquireFor(absl::Hours(1)));
          break;
        default:
          while (!semaphore->TryAcquire()) Yield();
      }
      semaphore.reset();
      releaser.Join();
    }
  });
}

TEST_P(SemaphoreTest, Misuse) {
  Here([] {
    EXPECT_THROW(Semaphore(-1), InvalidArgument);
    EXPECT_THROW(Semaphore(2, 3), InvalidArgument);
    EXPECT_THROW(Semaphore(2, -1), InvalidArgument);
    Semaphore semaphore(3, 2);
    EXPECT_THROW(semaphore.Acquire(4), SyncError);
    EXPECT_THROW((void)semaphore.TryAcquire(-1), SyncError);
    EXPECT_THROW((void)semaphore.AcquireFor(absl::ZeroDuration(), 4), SyncError);
    EXPECT_THROW((void)semaphore.OnAcquire(4), SyncError);
    EXPECT_THROW(semaphore.Release(-1), SyncError);
    try {
      semaphore.Release(2);
      ADD_FAILURE();
    } catch (const Panic& e) {
      EXPECT_NE(std::string(e.what()).find("Semaphore::Release"), std::string::npos) << e.what();
    }
    EXPECT_EQ(semaphore.available(), 2);
  });
}

}  // namespace
}  // namespace csp
