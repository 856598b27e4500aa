// A timer's tick is received once, never early, and never after Stop or Reset.
#include "csp/time/timer.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/select/select.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

constexpr absl::Duration kNever = absl::InfiniteDuration();

class TimerTest : public RuntimeTest {};
CSP_INSTANTIATE(TimerTest);

TEST_P(TimerTest, FiresOnceAndNotEarly) {
  Here([] {
    Timer timer(absl::Hours(1));
    EXPECT_FALSE(timer.TryFire());
    const absl::Time start = Now();
    timer.Reset(absl::Milliseconds(2));
    timer.Wait();
    EXPECT_GE(Now() - start, absl::Milliseconds(2));
    EXPECT_FALSE(timer.TryFire());
    EXPECT_EQ(Select(
                  timer.OnFire() >> [] { return 1; },
                  OnTimeout(absl::Milliseconds(3)) >> [] { return 2; }),
              2);
  });
}

TEST_P(TimerTest, OddDelays) {
  Here([] {
    for (const absl::Duration at_once :
         {absl::ZeroDuration(), -absl::Seconds(1), -absl::InfiniteDuration()}) {
      Timer timer(at_once);
      EXPECT_TRUE(timer.TryFire());
      EXPECT_FALSE(timer.Reset(at_once));
      timer.Wait();
    }
    for (const absl::Duration never : {kNever, absl::Hours(24 * 365 * 1000)}) {
      Timer timer(never);
      EXPECT_FALSE(timer.TryFire());
      EXPECT_EQ(Select(
                    timer.OnFire() >> [] { return 1; },
                    OnTimeout(absl::Milliseconds(1)) >> [] { return 2; }),
                2);
      EXPECT_TRUE(timer.Reset(absl::ZeroDuration()));
      EXPECT_TRUE(timer.TryFire());
    }
  });
}

TEST_P(TimerTest, WhatStopAndResetReturn) {
  Here([] {
    Timer timer(kNever);
    EXPECT_TRUE(timer.Stop());  // was running
    EXPECT_FALSE(timer.Stop());
    EXPECT_FALSE(timer.Reset(absl::ZeroDuration()));
    EXPECT_TRUE(timer.Stop());  // due, but not received
    EXPECT_FALSE(timer.TryFire());
    EXPECT_FALSE(timer.Reset(absl::ZeroDuration()));
    EXPECT_TRUE(timer.Reset(absl::ZeroDuration()));
    timer.Wait();
    EXPECT_FALSE(timer.Stop());  // received
    EXPECT_FALSE(timer.Reset(kNever));
    EXPECT_FALSE(timer.TryFire());
  });
}

TEST_P(TimerTest, WhoWaitsFollowsReset) {
  Here([] {
    Timer timer(kNever);
    for (bool in_time = false; !in_time;) {
      const absl::Time start = Now();
      Task<void> waiter = Go([&] { timer.Wait(); });
      Yield();
      timer.Reset(absl::Milliseconds(1));
      in_time = timer.Reset(absl::Hours(1));  // else the waiter has the tick already
      if (in_time) {
        SleepFor(absl::Milliseconds(3));
        EXPECT_FALSE(waiter.done());
        EXPECT_TRUE(timer.Stop());
        EXPECT_FALSE(timer.Reset(absl::Milliseconds(1)));
      }
      waiter.Join();
      EXPECT_TRUE(!in_time || Now() - start >= absl::Milliseconds(4));
    }
  });
}

TEST_P(TimerTest, OneTickIsForOneWaiter) {
  Here([] {
    Timer timer(kNever);
    constexpr int kWaiters = 5;
    std::atomic<int> received{0};
    std::vector<Task<void>> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.push_back(Go([&] {
        timer.Wait();
        ++received;
      }));
    }
    for (int round = 1; round <= kWaiters; ++round) {
      EXPECT_FALSE(timer.Reset(absl::Microseconds(100)) && round > 1);
      EXPECT_TRUE(EventuallyTrue([&] { return received == round; }));
      SleepFor(absl::Microseconds(300));
      EXPECT_EQ(received, round);
    }
    for (Task<void>& waiter : waiters) waiter.Join();
  });
}

TEST_P(TimerTest, ACancelledWaiterLeavesTheTick) {
  Here([] {
    Timer timer(absl::Hours(1));
    Task<void> waiter = Go([&] { timer.Wait(); });
    Yield();
    waiter.Cancel();
    EXPECT_THROW(waiter.Join(), TaskCancelled);
    EXPECT_TRUE(timer.Reset(absl::Milliseconds(1)));
    timer.Wait();
  });
}

// An event that is always ready does not keep the timer from being seen.
TEST_P(TimerTest, HasItsFairTurn) {
  Here([] {
    auto busy = MakeChan<int>(1);
    busy.Send(0);
    Timer timer(absl::Microseconds(100));
    for (bool fired = false; !fired;) {
      Select(
          busy.OnRecv() >> [&](auto) { busy.Send(0); }, timer.OnFire() >> [&] { fired = true; });
    }
  });
}

// E1 (golang/go#14038, #11513, #37196): the wait after a Reset is never cut short by an old tick.
TEST_P(TimerTest, NoStaleTickAfterReset) {
  Here([] {
    constexpr int kFibers = 200;
    std::vector<Task<void>> tasks;
    for (std::uint32_t seed = 1; seed <= kFibers; ++seed) {
      tasks.push_back(Go([seed] {
        std::minstd_rand random(seed);
        Timer timer(absl::Milliseconds(1));
        absl::Time start = Now() - absl::Milliseconds(1);
        for (int i = 0; i < Rounds(50); ++i) {
          Timer other(absl::Microseconds(500 + random() % 1000));
          Select(
              timer.OnFire() >> [&] { EXPECT_GE(Now() - start, absl::Milliseconds(1)); },
              other.OnFire());
          start = Now();
          timer.Reset(absl::Milliseconds(1));
        }
      }));
    }
    for (Task<void>& task : tasks) task.Join();
  });
}

// Every start of the timer ends in exactly one receive, or in one Stop or Reset that says true.
void ReceiveAgainstStop(bool threads) {
  Timer timer(kNever);
  auto quit = MakeChan<int>();
  std::atomic<int> received{0};
  const auto receive = [&] {
    while (Select(
        timer.OnFire() >>
            [&] {
              ++received;
              return true;
            },
        quit.OnRecv() >> [](auto) { return false; })) {
    }
  };
  std::vector<Task<void>> tasks;
  std::vector<std::thread> plain;
  for (int i = 0; i < 2; ++i) {
    tasks.push_back(Go(receive));
    if (threads) plain.emplace_back(receive);
  }
  constexpr int kSetters = 3;
  std::atomic<int> prevented{0};
  const int rounds = Rounds(20'000);
  std::vector<Task<void>> setters;
  for (int s = 0; s < kSetters; ++s) {
    setters.push_back(Go([&, s] {
      std::minstd_rand random(static_cast<std::uint32_t>(s + 1));
      for (int i = 0; i < rounds; ++i) {
        const absl::Duration delay = absl::Microseconds(static_cast<int>(random() % 4));
        prevented += timer.Reset(delay) ? 1 : 0;
        if (random() % 2 == 0) Yield();
        if (random() % 64 == 0) SleepFor(absl::Microseconds(5));
      }
    }));
  }
  for (Task<void>& setter : setters) setter.Join();
  prevented += timer.Stop() ? 1 : 0;
  EXPECT_FALSE(timer.TryFire());
  quit.Close();
  for (Task<void>& task : tasks) task.Join();
  for (std::thread& thread : plain) thread.join();
  EXPECT_EQ(received + prevented, kSetters * rounds + 1);
}

TEST_P(TimerTest, EachStartEndsOnce) {
  Here([] { ReceiveAgainstStop(false); });
}

TEST_P(TimerTest, EachStartEndsOnceAlsoWithPlainThreads) {
  Here([] { ReceiveAgainstStop(true); });
}

// After a Stop that said true nothing arrives, whoever waits.
TEST_P(TimerTest, StopHolds) {
  Here([] {
    Timer timer(kNever);
    timer.Stop();
    std::atomic<int> received{0};
    auto quit = MakeChan<int>();
    Task<void> receiver = Go([&] {
      for (;;) {
        if (Select(
                timer.OnFire() >> [] { return false; }, quit.OnRecv() >> [](auto) { return true; }))
          return;
        ++received;
      }
    });
    int expected = 0;
    for (int i = 0; i < Rounds(20'000); ++i) {
      timer.Reset(absl::Microseconds(i % 3));
      if (i % 2 == 0) Yield();
      if (!timer.Stop()) ++expected;
      if (i % 512 == 0) {
        SleepFor(absl::Microseconds(50));
        ASSERT_TRUE(EventuallyTrue([&] { return received == expected; })) << received;
      }
    }
    quit.Close();
    receiver.Join();
    EXPECT_EQ(received, expected);
  });
}

// E10: everybody stops and resets everybody's timers, from fibers and from a plain thread.
TEST_P(TimerTest, Meddlers) {
  Here([] {
    std::vector<std::unique_ptr<Timer>> timers;
    for (int i = 0; i < 6; ++i) timers.push_back(std::make_unique<Timer>(kNever));
    const auto meddle = [&timers](std::uint32_t random) {
      Timer& timer = *timers[random / 64 % timers.size()];
      switch (random % 4) {
        case 0:
          timer.Stop();
          break;
        case 1:
          (void)timer.TryFire();
          break;
        default:
          timer.Reset(absl::Microseconds(random / 4 % 16));
      }
    };
    std::atomic<bool> over{false};
    std::atomic<int> fired{0};
    std::vector<Task<void>> tasks;
    for (std::uint32_t i = 0; i < timers.size(); ++i) {
      tasks.push_back(Go([&, i] {
        std::mt19937 random(i);
        while (!over) {
          Select(
              timers[i]->OnFire() >> [&] { ++fired; },
              OnTimeout(absl::Microseconds(random() % 50)) >> [] {});
          meddle(static_cast<std::uint32_t>(random()));
        }
      }));
    }
    tasks.push_back(BlockingDetached([&] {
      std::mt19937 random(99);
      while (!over) meddle(static_cast<std::uint32_t>(random()));
    }));
    std::mt19937 random(7);
    for (int i = 0; i < Rounds(20'000); ++i) {
      meddle(static_cast<std::uint32_t>(random()));
      if (i % 8 == 0) Yield();
    }
    EXPECT_TRUE(EventuallyTrue([&] {
      meddle(2);  // a Reset
      return fired > 0;
    }));
    over = true;
    for (Task<void>& task : tasks) task.Join();
  });
}

TEST_P(TimerTest, WithADefault) {
  Here([] {
    Timer timer(absl::Milliseconds(1));
    auto values = MakeChan<int>();
    int fired = 0;
    while (fired == 0) {
      Select(
          timer.OnFire() >> [&] { ++fired; }, values.OnRecv() >> [](auto) {}, Default);
    }
    EXPECT_FALSE(timer.TryFire());
  });
}

}  // namespace
}  // namespace csp
