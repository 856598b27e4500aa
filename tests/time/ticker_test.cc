// A ticker's ticks are counted, not queued; they keep their phase and arrive once.
#include "csp/time/ticker.h"

#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/select/select.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

class TickerTest : public RuntimeTest {};
CSP_INSTANTIATE(TickerTest);

// A ticker whose start is known to lie between two readings of the clock.
struct Observed {
  explicit Observed(absl::Duration p) : period(p), before(Now()), ticker(p), after(Now()) {}

  // How many ticks there can have been until a moment between `from` and `to`.
  std::int64_t AtLeast(absl::Time from) const { return (from - after) / period; }
  std::int64_t AtMost(absl::Time to) const { return (to - before) / period; }

  const absl::Duration period;
  const absl::Time before;
  Ticker ticker;
  const absl::Time after;
};

TEST_P(TickerTest, CountsWhatALateReceiverHasMissed) {
  Here([] {
    Observed o(absl::Milliseconds(10));
    SleepFor(absl::Milliseconds(95));
    const absl::Time from = Now();
    const std::int64_t ticks = o.ticker.Tick();
    EXPECT_GE(ticks, 9);
    EXPECT_GE(ticks, o.AtLeast(from));
    EXPECT_LE(ticks, o.AtMost(Now()));
    // One message, whatever it stands for, and the next one in phase.
    const std::int64_t next = o.ticker.Tick();
    EXPECT_LE(ticks + next, o.AtMost(Now()));
    EXPECT_GE(Now() - o.before, o.period * (ticks + 1));
  });
}

TEST_P(TickerTest, DoesNotDrift) {
  Here([] {
    Observed o(absl::Microseconds(200));
    std::int64_t total = 0;
    for (int i = 0; i < 200; ++i) {
      const absl::Time from = Now();
      total += o.ticker.Tick();
      ASSERT_GE(total, o.AtLeast(from));
      ASSERT_LE(total, o.AtMost(Now()));
    }
  });
}

TEST_P(TickerTest, TryTick) {
  Here([] {
    Observed o(absl::Milliseconds(1));
    std::int64_t total = 0;
    while (total < 5) total += o.ticker.TryTick();
    EXPECT_LE(total, o.AtMost(Now()));
    o.ticker.Stop();
    EXPECT_EQ(o.ticker.TryTick(), 0);
  });
}

TEST_P(TickerTest, BadPeriods) {
  Here([] {
    EXPECT_THROW(Ticker{absl::ZeroDuration()}, InvalidArgument);
    EXPECT_THROW(Ticker(-absl::Nanoseconds(1)), InvalidArgument);
    EXPECT_THROW(Ticker(-absl::InfiniteDuration()), InvalidArgument);
    Observed o(absl::Milliseconds(1));
    EXPECT_THROW(o.ticker.Reset(absl::ZeroDuration()), InvalidArgument);
    o.ticker.Tick();  // goes on as before
  });
}

TEST_P(TickerTest, OddPeriods) {
  Here([] {
    Ticker never(absl::InfiniteDuration());
    EXPECT_EQ(never.TryTick(), 0);
    Ticker ages(absl::Hours(24 * 365 * 1000));
    EXPECT_EQ(Select(
                  never.OnTick(), ages.OnTick(),
                  OnTimeout(absl::Milliseconds(1)) >> [] { return std::int64_t{-1}; }),
              -1);
    Ticker fastest(absl::Nanoseconds(1) / 4);  // the least there is
    EXPECT_GE(fastest.Tick() + fastest.Tick(), 2);
  });
}

TEST_P(TickerTest, StopAndReset) {
  Here([] {
    Ticker ticker(absl::Milliseconds(1));
    SleepFor(absl::Milliseconds(3));
    ticker.Stop();
    EXPECT_EQ(ticker.TryTick(), 0);  // what had been due is gone
    Task<std::int64_t> waiter = Go([&] { return ticker.Tick(); });
    SleepFor(absl::Milliseconds(2));
    EXPECT_FALSE(waiter.done());
    const absl::Time start = Now();
    ticker.Reset(absl::Milliseconds(3));
    EXPECT_GE(waiter.Join(), 1);
    EXPECT_GE(Now() - start, absl::Milliseconds(3));
  });
}

TEST_P(TickerTest, HasItsFairTurn) {
  Here([] {
    auto busy = MakeChan<int>(1);
    busy.Send(0);
    Ticker ticker(absl::Microseconds(100));
    for (int turns = 0; turns < 5;) {
      Select(
          busy.OnRecv() >> [&](auto) { busy.Send(0); },
          ticker.OnTick() >> [&](std::int64_t) { ++turns; });
    }
  });
}

// Whoever shares a ticker: together they receive what one alone would have.
TEST_P(TickerTest, EachTickIsDeliveredOnce) {
  Here([] {
    Observed o(absl::Microseconds(50));
    std::atomic<std::int64_t> total{0};
    auto quit = MakeChan<int>();
    const auto receive = [&] {
      while (Select(
          o.ticker.OnTick() >>
              [&](std::int64_t ticks) {
                EXPECT_GE(ticks, 1);
                total += ticks;
                return true;
              },
          quit.OnRecv() >> [](auto) { return false; })) {
      }
    };
    std::vector<Task<void>> tasks;
    for (int i = 0; i < 4; ++i) tasks.push_back(Go(receive));
    std::thread thread(receive);
    SleepFor(absl::Milliseconds(100));
    quit.Close();
    for (Task<void>& task : tasks) task.Join();
    thread.join();
    const absl::Time from = Now();
    total += o.ticker.TryTick();
    EXPECT_GE(total, o.AtLeast(from));
    EXPECT_LE(total, o.AtMost(Now()));
  });
}

// After a Reset no tick comes before its period is over, however many waits are under way.
TEST_P(TickerTest, ResetAgainstWaiters) {
  Here([] {
    Ticker ticker(absl::Microseconds(1));
    std::atomic<std::int64_t> received{0};
    auto quit = MakeChan<int>();
    std::vector<Task<void>> tasks;
    for (int i = 0; i < 3; ++i) {
      tasks.push_back(Go([&] {
        while (Select(
            ticker.OnTick() >> [&](std::int64_t n) { return (received += n) > 0; },
            quit.OnRecv() >> [](auto) { return false; })) {
        }
      }));
    }
    std::minstd_rand random(1);
    for (int i = 0; i < Rounds(20'000); ++i) {
      ticker.Reset(absl::Nanoseconds(100 + static_cast<int>(random() % 20'000)));
      if (random() % 2 == 0) Yield();
      if (random() % 8 == 0) ticker.Stop();
      if (random() % 64 == 0) SleepFor(absl::Microseconds(10));
    }
    ticker.Reset(absl::Microseconds(1));
    EXPECT_TRUE(EventuallyTrue([&] { return received > 0; }));
    ticker.Reset(absl::Hours(1));
    SleepFor(absl::Milliseconds(1));  // whoever had taken one has counted it by now, or soon
    quit.Close();
    for (Task<void>& task : tasks) task.Join();
    EXPECT_EQ(ticker.TryTick(), 0);
  });
}

}  // namespace
}  // namespace csp
