// Sleeping and timeouts on the real clock: never early, and odd durations.
#include "csp/time/time.h"

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/select/select.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

constexpr absl::Duration kAges = absl::Hours(24 * 365 * 1000);

class TimeTest : public RuntimeTest {};
CSP_INSTANTIATE(TimeTest);

// golang/go#17696, and also while fibers move between workers.
TEST_P(TimeTest, SleepForIsNeverEarly) {
  Here([] {
    std::vector<Task<void>> tasks;
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      tasks.push_back(Go([seed] {
        std::minstd_rand random(seed + 1);
        for (int i = 0; i < Rounds(100); ++i) {
          const std::chrono::microseconds asked(1 + random() % 3000);
          const auto start = std::chrono::steady_clock::now();
          SleepFor(absl::FromChrono(asked));
          ASSERT_GE(std::chrono::steady_clock::now() - start, asked);
        }
      }));
    }
    for (Task<void>& task : tasks) task.Join();
  });
}

// The watcher of idle workers has long gone to sleep, without a deadline, when the timer is armed.
TEST_P(TimeTest, ASleepAfterALongBusySpell) {
  Here([] {
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(20)) {
      }
      SleepFor(absl::Microseconds(100));
    }
  });
}

// ... nor need the worker that armed it be free when it is due.
TEST_P(TimeTest, ABusyWorkerDoesNotHoldBackItsTimers) {
  if (workers() == 1) GTEST_SKIP() << "nobody else is there";
  Here([] {
    Task<absl::Time> sleeper = Go([] {
      const auto start = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(20)) {
      }
      SleepFor(absl::Milliseconds(1));
      return Now();
    });
    SleepFor(absl::Milliseconds(1));
    const auto start = std::chrono::steady_clock::now();
    while (!sleeper.done()) {  // without giving way
      ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    }
    sleeper.Join();
  });
}

TEST_P(TimeTest, SleepUntilIsNeverEarly) {
  Here([] {
    for (int i = 0; i < 50; ++i) {
      const absl::Time until = Now() + absl::Microseconds(i * 20);
      SleepUntil(until);
      ASSERT_GE(Now(), until);
    }
  });
}

TEST_P(TimeTest, SleepsThatAreOverAtOnce) {
  Here([] {
    SleepFor(absl::ZeroDuration());
    SleepFor(-absl::Hours(1));
    SleepFor(-absl::InfiniteDuration());
    SleepUntil(Now());
    SleepUntil(absl::InfinitePast());
    SleepUntil(absl::UnixEpoch() - kAges);
  });
}

TEST_P(TimeTest, SleepsThatAreOverAtOnceGiveWay) {
  if (workers() != 1) GTEST_SKIP() << "the other worker may take it, or not";
  Here([] {
    for (const bool until : {false, true}) {
      bool ran = false;
      Task<void> task = Go([&] { ran = true; });
      while (!ran) {  // now and then it is the sleeper's own turn; the watchdog ends what never is
        until ? SleepUntil(Now() - absl::Seconds(1)) : SleepFor(absl::ZeroDuration());
      }
      task.Join();
    }
  });
}

TEST_P(TimeTest, SleepsThatNeverEndCanBeCancelled) {
  Here([] {
    std::vector<Task<void>> tasks;
    tasks.push_back(Go([] { SleepFor(absl::InfiniteDuration()); }));
    tasks.push_back(Go([] { SleepFor(kAges); }));
    tasks.push_back(Go([] { SleepUntil(absl::InfiniteFuture()); }));
    tasks.push_back(Go([] { SleepUntil(Now() + kAges); }));
    SleepFor(absl::Milliseconds(2));
    for (Task<void>& task : tasks) {
      EXPECT_FALSE(task.done());
      task.Cancel();
      EXPECT_THROW(task.Join(), TaskCancelled);
    }
  });
}

TEST_P(TimeTest, NowNeverRunsBackwards) {
  Here([] {
    absl::Time last = Now();
    for (int i = 0; i < 1000; ++i) {
      const absl::Time now = Now();
      ASSERT_GE(now, last);
      last = now;
      if (i % 100 == 0) Yield();
    }
  });
}

TEST_P(TimeTest, ATimeoutThatIsOverIsADefault) {
  Here([] {
    auto never = MakeChan<int>();
    auto ready = MakeChan<int>(1);
    ready.Send(1);
    for (const absl::Duration over :
         {absl::ZeroDuration(), -absl::Nanoseconds(1), -absl::InfiniteDuration()}) {
      EXPECT_EQ(Select(
                    never.OnRecv() >> [](auto) { return 1; }, OnTimeout(over) >> [] { return 2; }),
                2);
      // It loses to whatever is ready.
      EXPECT_EQ(Select(
                    OnTimeout(over) >> [] { return 2; }, ready.OnRecv() >> [](auto) { return 1; }),
                1);
      ready.Send(1);
    }
    EXPECT_EQ(Select(
                  OnDeadline(Now()) >> [] { return 2; }, ready.OnRecv() >> [](auto) { return 1; }),
              1);
    EXPECT_EQ(Select(
                  OnDeadline(absl::InfinitePast()) >> [] { return 2; },
                  never.OnRecv() >> [](auto) { return 1; }),
              2);
  });
}

TEST_P(TimeTest, ATimeoutThatNeverComesArmsNothing) {
  Here([] {
    auto values = MakeChan<int>();
    for (const absl::Duration never : {absl::InfiniteDuration(), kAges}) {
      Task<int> waiter = Go([&] {
        return Select(
            values.OnRecv() >> [](std::optional<int> v) { return *v; },
            OnTimeout(never) >> [] { return -1; },
            OnDeadline(absl::InfiniteFuture()) >> [] { return -2; },
            OnDeadline(Now() + never) >> [] { return -3; });
      });
      SleepFor(absl::Milliseconds(1));
      EXPECT_EQ(GetStats().timers, 0u);
      values.Send(7);
      EXPECT_EQ(waiter.Join(), 7);
    }
  });
}

TEST_P(TimeTest, TimeoutsAreNeverEarlyAndDoNotDisturb) {
  Here([] {
    auto values = MakeChan<int>();
    Task<int> receiver = Go([&] {
      int received = 0;
      for (;;) {
        const absl::Time start = Now();
        const bool open = Select(
            values.OnRecv() >> [&](std::optional<int> v) { return v && ++received > 0; },
            OnTimeout(absl::Microseconds(50)) >>
                [&] {
                  EXPECT_GE(Now() - start, absl::Microseconds(50));
                  return true;
                });
        if (!open) return received;
      }
    });
    const int rounds = Rounds(20'000);
    for (int i = 0; i < rounds; ++i) {
      values.Send(i);
      if (i % 1000 == 0) SleepFor(absl::Microseconds(200));
    }
    values.Close();
    EXPECT_EQ(receiver.Join(), rounds);
  });
}

TEST_P(TimeTest, TheEarlierOfTwoWins) {
  Here([] {
    for (int i = 0; i < 20; ++i) {
      const absl::Time now = Now();
      EXPECT_EQ(Select(
                    OnDeadline(now + absl::Hours(3)) >> [] { return 3; },
                    OnDeadline(now + absl::Milliseconds(1)) >> [] { return 1; },
                    OnTimeout(absl::Hours(9)) >> [] { return 9; }),
                1);
      // Both long due, whether they are looked at or waited for.
      EXPECT_EQ(Select(
                    OnDeadline(now - absl::Seconds(1)) >> [] { return 1; },
                    OnDeadline(now - absl::Seconds(2)) >> [] { return 2; },
                    OnTimeout(absl::ZeroDuration()) >> [] { return 0; }),
                2);
    }
  });
}

}  // namespace
}  // namespace csp
