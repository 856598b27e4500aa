// Time on a clock that stands still: everything is exact.
#include <cstdint>
#include <random>
#include <vector>

#include "csp/base/clock.h"
#include "csp/chan/chan.h"
#include "csp/select/select.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/ticker.h"
#include "csp/time/time.h"
#include "csp/time/timer.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using absl::Milliseconds;

// No instance on a plain thread: it would start the default runtime, which outlives the clock.
class VirtualTimeTest : public testing::TestWithParam<int> {
 protected:
  void Here(const std::function<void()>& body) { RunAt(Place{GetParam()}, body); }

  // Lets everybody come to rest: until so many timers are armed.
  static void AwaitTimers(std::size_t count) {
    EXPECT_TRUE(EventuallyTrue([count] { return GetStats().timers == count; }))
        << GetStats().timers;
  }

  ManualClock clock_;
  ScopedClock use_{&clock_};
};
INSTANTIATE_TEST_SUITE_P(Workers, VirtualTimeTest, testing::Values(1, 2, 4, 8),
                         testing::PrintToStringParamName());

TEST_P(VirtualTimeTest, SleepersWakeInOrder) {
  Here([&] {
    auto woken = MakeChan<int>(kUnbounded);
    for (const int ms : {30, 10, 20}) {
      Go([=] {
        SleepFor(Milliseconds(ms));
        woken.Send(ms);
      });
    }
    AwaitTimers(3);
    clock_.Advance(Milliseconds(9));
    EXPECT_EQ(woken.len(), 0u);
    for (const int ms : {10, 20, 30}) {
      clock_.Advance(Milliseconds(ms == 10 ? 1 : 10));
      EXPECT_EQ(woken.Recv(), ms);
      EXPECT_EQ(woken.len(), 0u);
    }
  });
}

// E8 (crossbeam-rs/crossbeam#397).
TEST_P(VirtualTimeTest, ALateReceiverGetsOneCountAndThePhaseIsKept) {
  Here([&] {
    Ticker ticker(Milliseconds(10));
    clock_.Advance(Milliseconds(95));
    EXPECT_EQ(ticker.Tick(), 9);
    EXPECT_EQ(ticker.TryTick(), 0);
    clock_.Advance(Milliseconds(4));
    EXPECT_EQ(ticker.TryTick(), 0);
    clock_.Advance(Milliseconds(1));
    EXPECT_EQ(ticker.Tick(), 1);
    std::int64_t total = 10;
    for (int i = 0; i < 500; ++i) {
      clock_.Advance(Milliseconds(7));
      total += ticker.TryTick();
      ASSERT_EQ(total, (100 + 7 * (i + 1)) / 10);
    }
    ticker.Reset(Milliseconds(3));
    clock_.Advance(Milliseconds(3));
    EXPECT_EQ(ticker.Tick(), 1);
  });
}

TEST_P(VirtualTimeTest, AWaiterIsWokenAtEachTick) {
  Here([&] {
    Ticker ticker(Milliseconds(10));
    auto ticks = MakeChan<std::int64_t>();
    Task<void> waiter = Go([&] {
      for (int i = 0; i < 100; ++i) ticks.Send(ticker.Tick());
    });
    for (int i = 0; i < 100; ++i) {
      AwaitTimers(1);
      clock_.Advance(Milliseconds(10));
      ASSERT_EQ(ticks.Recv(), 1);
    }
    waiter.Join();
  });
}

TEST_P(VirtualTimeTest, TheEndOfTime) {
  Here([&] {
    Ticker ticker(absl::Hours(24 * 365 * 100));
    Timer timer(absl::Hours(1));
    Timer never(absl::InfiniteDuration());
    clock_.Advance(absl::InfiniteDuration());
    EXPECT_EQ(ticker.Tick(), 2);  // what fits into the time line of 292 years
    EXPECT_EQ(ticker.TryTick(), 0);
    EXPECT_TRUE(timer.TryFire());
    EXPECT_FALSE(never.TryFire());
    EXPECT_FALSE(timer.Reset(Milliseconds(1)));  // beyond the end
    EXPECT_FALSE(timer.TryFire());
  });
}

TEST_P(VirtualTimeTest, OfTwoDueTogetherTheFirstWritten) {
  Here([&] {
    for (int i = 0; i < 200; ++i) {
      const absl::Time due = Now() + Milliseconds(5);
      Task<int> waiter = Go([&] {
        return Select(
            OnDeadline(due + Milliseconds(1)) >> [] { return 0; },
            OnDeadline(due) >> [] { return 1; }, OnTimeout(Milliseconds(5)) >> [] { return 2; },
            OnDeadline(due) >> [] { return 3; });
      });
      AwaitTimers(4);
      clock_.Advance(Milliseconds(5 + i % 2));
      ASSERT_EQ(waiter.Join(), 1);
      // The same where nothing has to be waited for.
      ASSERT_EQ(Select(
                    OnTimeout(absl::ZeroDuration()) >> [] { return 0; },
                    OnDeadline(due) >> [] { return 1; }, OnDeadline(due) >> [] { return 2; }),
                1);
      ASSERT_EQ(PriSelect(
                    OnTimeout(absl::ZeroDuration()) >> [] { return 0; },
                    OnDeadline(due) >> [] { return 1; }),
                0);
    }
  });
}

TEST_P(VirtualTimeTest, StopAndResetMoveWhoWaits) {
  Here([&] {
    Timer timer(Milliseconds(10));
    Task<void> waiter = Go([&] { timer.Wait(); });
    AwaitTimers(1);
    EXPECT_TRUE(timer.Stop());
    AwaitTimers(0);
    clock_.Advance(absl::Hours(1));
    EXPECT_FALSE(timer.Reset(Milliseconds(20)));
    AwaitTimers(1);
    clock_.Advance(Milliseconds(15));
    EXPECT_TRUE(timer.Reset(Milliseconds(10)));
    clock_.Advance(Milliseconds(9));
    for (int i = 0; i < 10; ++i) Yield();
    EXPECT_FALSE(waiter.done());
    clock_.Advance(Milliseconds(1));
    waiter.Join();
    EXPECT_FALSE(timer.Stop());
  });
}

// Against a model of a dozen lines, in random order; with a second fiber that waits now and then.
TEST_P(VirtualTimeTest, TimerDoesWhatItsModelDoes) {
  Here([&] {
    std::minstd_rand random(7);
    Timer timer(Milliseconds(5));
    bool set = true;
    absl::Time due = Now() + Milliseconds(5);
    for (int i = 0; i < Rounds(100'000); ++i) {
      const absl::Duration delay = Milliseconds(static_cast<int>(random() % 5));
      switch (random() % 5) {
        case 0:
          ASSERT_EQ(timer.Stop(), set);
          set = false;
          break;
        case 1:
          ASSERT_EQ(timer.Reset(delay), set);
          set = true;
          due = Now() + delay;
          break;
        case 2:
          clock_.Advance(delay);
          break;
        case 3:
          ASSERT_EQ(timer.TryFire(), set && Now() >= due);
          set = set && Now() < due;
          break;
        default:
          ASSERT_EQ(Select(
                        timer.OnFire() >> [] { return true; }, Default >> [] { return false; }),
                    set && Now() >= due);
          set = set && Now() < due;
      }
    }
  });
}

// golang/go#14038 on a clock that moves under the waiter: no tick of before a Reset, none lost.
TEST_P(VirtualTimeTest, ResetAgainstAMovingClock) {
  Here([&] {
    Timer timer(absl::InfiniteDuration());
    auto done = MakeChan<int>();
    Task<int> receiver = Go([&] {
      int received = 0;
      while (Select(
          timer.OnFire() >> [&] { return ++received > 0; },
          done.OnRecv() >> [](auto) { return false; })) {
      }
      return received;
    });
    int prevented = 0;
    const int rounds = Rounds(100'000);
    for (int i = 0; i < rounds; ++i) {
      prevented += timer.Reset(absl::Nanoseconds(i % 4)) ? 1 : 0;
      clock_.Advance(absl::Nanoseconds(i % 3));
      if (i % 8 == 0) Yield();
    }
    prevented += timer.Stop() ? 1 : 0;
    done.Close();
    EXPECT_EQ(receiver.Join() + prevented, rounds + 1);
  });
}

}  // namespace
}  // namespace csp
