// The runtime's timers on a clock that stands still until somebody moves it.
//
// A clock must not be put in place while a runtime lives. The default runtime never ends, so
// nothing here may start it: no test on a plain thread, no Go outside of Run.
#include <atomic>
#include <thread>
#include <vector>

#include "csp/base/clock.h"
#include "csp/chan/chan.h"
#include "csp/task/after_func.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

class ManualClockTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, ManualClockTest, testing::Values(1, 2, 4));

TEST_P(ManualClockTest, SleepersWakeInOrderAsTheClockIsAdvanced) {
  const Watchdog watchdog;
  ManualClock clock;
  const ScopedClock use(&clock);
  const absl::Time begin = Now();
  csp::Run(
      [&] {
        constexpr int kSleepers = 20;
        Chan<int> woken = MakeChan<int>(kSleepers);
        std::vector<Task<void>> tasks;
        for (int i = 0; i < kSleepers; ++i) {
          const int seconds = (i * 7) % kSleepers + 1;
          tasks.push_back(Go([=] {
            SleepUntil(begin + absl::Seconds(seconds));
            woken.Send(seconds);
          }));
        }
        ASSERT_TRUE(EventuallyTrue([] { return GetStats().timers == kSleepers; }));
        for (int second = 1; second <= kSleepers; ++second) {
          EXPECT_EQ(woken.len(), 0U);
          clock.Advance(absl::Seconds(1));
          EXPECT_EQ(woken.Recv(), second);
        }
        for (Task<void>& task : tasks) task.Join();
        EXPECT_EQ(Now(), begin + absl::Seconds(kSleepers));
      },
      {.workers = GetParam()});
}

TEST_P(ManualClockTest, APlainThreadMovesTheClock) {
  const Watchdog watchdog;
  ManualClock clock;
  const ScopedClock use(&clock);
  std::atomic<bool> over{false};
  std::thread mover([&] {
    while (!over) {
      clock.Advance(absl::Milliseconds(1));
      std::this_thread::yield();
    }
  });
  csp::Run(
      [&] {
        std::vector<Task<void>> tasks;
        for (int i = 0; i < 8; ++i) {
          tasks.push_back(Go([i] {
            for (int k = 0; k < Rounds(500); ++k) {
              const absl::Time until = Now() + absl::Milliseconds(i + k % 5);
              SleepUntil(until);
              ASSERT_GE(Now(), until);
            }
          }));
        }
        for (Task<void>& task : tasks) task.Join();
      },
      {.workers = GetParam()});
  over = true;
  mover.join();
}

TEST_P(ManualClockTest, TimeStandsStillByItself) {
  const Watchdog watchdog;
  ManualClock clock;
  const ScopedClock use(&clock);
  csp::Run(
      [&] {
        Task<void> sleeper = Go([] { SleepFor(absl::Nanoseconds(1)); });
        for (int i = 0; i < 1000; ++i) Yield();
        EXPECT_FALSE(sleeper.done());
        clock.Advance(absl::Nanoseconds(1));
        sleeper.Join();
      },
      {.workers = GetParam()});
}

TEST_P(ManualClockTest, AfterFuncRunsWhenTheClockIsThere) {
  const Watchdog watchdog;
  ManualClock clock;
  const ScopedClock use(&clock);
  csp::Run(
      [&] {
        const Chan<int> ran = MakeChan<int>(1);
        AfterFuncTimer timer = AfterFunc(absl::Hours(1), [ran] { ran.Send(1); });
        clock.Advance(absl::Hours(1) - absl::Nanoseconds(1));
        for (int i = 0; i < 100; ++i) Yield();
        EXPECT_EQ(ran.len(), 0U);
        clock.Advance(absl::Nanoseconds(1));
        EXPECT_EQ(ran.Recv(), 1);
        EXPECT_FALSE(timer.Stop());
      },
      {.workers = GetParam()});
}

}  // namespace
}  // namespace csp
