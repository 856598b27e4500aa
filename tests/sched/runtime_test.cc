#include "csp/sched/runtime.h"

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "csp/base/clock.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

// A6
TEST(RuntimesTest, StartsAndStopsManyTimes) {
  const Watchdog watchdog;
  for (int i = 0; i < (kTsan || kAsan ? 50 : 200); ++i) {
    std::atomic<int> ran{0};
    csp::Run(
        [&] {
          std::vector<Task<void>> tasks;
          for (int k = 0; k < 20; ++k) {
            tasks.push_back(Go([&] {
              Yield();
              ++ran;
            }));
          }
          for (Task<void>& task : tasks) task.Join();
        },
        {.workers = 1 + i % 8});
    ASSERT_EQ(ran, 20);
  }
}

TEST(RuntimesTest, TwoSideBySideShareAChannel) {
  const Watchdog watchdog;
  const int items = Rounds(5000);
  const Chan<int> there = MakeChan<int>();
  const Chan<int> back = MakeChan<int>(4);
  std::thread other([&] {
    csp::Run(
        [&] {
          std::vector<Task<void>> tasks;
          for (int k = 0; k < 3; ++k) {
            tasks.push_back(Go([&] {
              for (int i : there) back.Send(int{i});
            }));
          }
          for (Task<void>& task : tasks) task.Join();
          back.Close();
        },
        {.workers = 3});
  });
  csp::Run(
      [&] {
        Task<void> sender = Go([&] {
          for (int i = 0; i < items; ++i) there.Send(int{i});
          there.Close();
        });
        long sum = 0;
        for (int i : back) sum += i;
        EXPECT_EQ(sum, static_cast<long>(items) * (items - 1) / 2);
        sender.Join();
      },
      {.workers = 2});
  other.join();
}

TEST(RuntimesTest, StatsAddUp) {
  const Watchdog watchdog;
  ManualClock clock;
  const ScopedClock use(&clock);
  csp::Run(
      [&] {
        const RuntimeStats before = GetStats();
        EXPECT_EQ(before.workers, 3);
        EXPECT_EQ(before.tasks_spawned, 1U);
        EXPECT_EQ(before.tasks_finished, 0U);
        std::vector<Task<void>> tasks;
        for (int i = 0; i < 50; ++i) tasks.push_back(Go([] { SleepFor(absl::Hours(1)); }));
        EXPECT_TRUE(
            EventuallyTrue([] { return GetStats().timers == 50 && GetStats().parks >= 50; }));
        clock.Advance(absl::Hours(1));
        for (Task<void>& task : tasks) task.Join();
        EXPECT_TRUE(EventuallyTrue([] { return GetStats().tasks_finished == 50; }));
        const RuntimeStats after = GetStats();
        EXPECT_EQ(after.tasks_spawned, 51U);
        EXPECT_EQ(after.timers, 0U);
        EXPECT_EQ(after.timers_fired, 50U);
        EXPECT_GE(after.parks, 50U);
        EXPECT_GE(after.wakeups, 50U);
        EXPECT_GT(after.switches, before.switches);
        EXPECT_GE(after.stacks_mapped, after.stacks_hot);
        EXPECT_GT(after.stacks_hot, 0U);

        Event never;
        Task<void> sleeper = Go([] { SleepFor(absl::Hours(1)); });
        EXPECT_TRUE(EventuallyTrue([] { return GetStats().timers == 1; }));
        sleeper.Cancel();
        EXPECT_THROW(sleeper.Join(), TaskCancelled);
        EXPECT_EQ(GetStats().timers, 0U);
      },
      {.workers = 3});
}

// Numbers of tasks, stacks and threads do not grow from run to run.
TEST(RuntimesTest, NothingPilesUp) {
  const Watchdog watchdog;
  std::size_t mapped = 0;
  for (int i = 0; i < 30; ++i) {
    csp::Run(
        [] {
          Event gate;
          std::vector<Task<void>> tasks;
          for (int k = 0; k < 300; ++k) tasks.push_back(Go([&] { gate.Wait(); }));
          for (int k = 0; k < 50; ++k) Yield();
          gate.Set();
          for (Task<void>& task : tasks) task.Join();
        },
        {.workers = 2});
    const std::size_t now = csp::Run([] { return static_cast<int>(GetStats().stacks_mapped); });
    if (i == 5) mapped = now;
    if (i > 5) {
      EXPECT_LE(now, mapped);
    }
  }
}

// --- The clock may not change under a runtime.

void ChangeTheClockInsideRun() {
  csp::Run([] {
    ManualClock clock;
    const ScopedClock use(&clock);
  });
}

void EndAClockUnderTheDefaultRuntime() {
  ManualClock clock;
  const ScopedClock use(&clock);
  Go([] {}).Join();
}

void EndAClockUnderARunOfAnotherThread() {
  ManualClock clock;
  std::atomic<bool> runs{false};
  std::thread other;
  const ScopedClock use(&clock);
  other = std::thread([&] {
    csp::Run([&] {
      runs = true;
      MakeChan<int>().Recv();
    });
  });
  while (!runs) std::this_thread::yield();
}

TEST(RuntimesTest, TheClockMayNotChangeUnderOne) {
  const testing::KilledBySignal aborted(SIGABRT);
  EXPECT_CHILD(ChangeTheClockInsideRun(), aborted, "ScopedClock: made while a runtime lives");
  EXPECT_CHILD(EndAClockUnderTheDefaultRuntime(), aborted,
               "ScopedClock: ends while a runtime lives");
  EXPECT_CHILD(EndAClockUnderARunOfAnotherThread(), aborted,
               "ScopedClock: ends while a runtime lives");
}

TEST(RuntimesTest, TheClockMayChangeBetweenThem) {
  for (int i = 0; i < 3; ++i) {
    ManualClock clock;
    const ScopedClock use(&clock);
    csp::Run([&] {
      Task<void> sleeper = Go([] { SleepFor(absl::Hours(1)); });
      EXPECT_TRUE(EventuallyTrue([] { return GetStats().timers == 1; }));
      clock.Advance(absl::Hours(1));
      sleeper.Join();
    });
  }
}

}  // namespace
}  // namespace csp
