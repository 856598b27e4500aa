#include "csp/sched/timer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "csp/base/clock.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
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

using TimerTest = RuntimeTest;
CSP_INSTANTIATE(TimerTest);

// Counts in place of waking somebody.
class CountingTimer final : public internal::Timer {
 public:
  std::atomic<int> fired{0};

 private:
  Fired Fire() noexcept override {
    fired.fetch_add(1);
    return {};
  }
};

// Works without giving way, so that idle workers fall asleep as deeply as they do.
void Compute(std::chrono::milliseconds length) {
  const auto until = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < until) {
  }
}

TEST_P(TimerTest, SleepEndsAlsoWhenTheOtherWorkersHaveFallenAsleepBefore) {
  Here([] {
    for (int i = 0; i < 3; ++i) {
      Compute(std::chrono::milliseconds(10));
      SleepFor(absl::Milliseconds(5));
    }
  });
}

// The worker that armed the timer is busy: an idle one has to see to it.
TEST_P(TimerTest, FiresWhileItsWorkerIsBusy) {
  if (workers() == 1) GTEST_SKIP() << "nobody is idle";
  Here([] {
    std::atomic<bool> woken{false};
    Task<void> sleeper = Go([&] {
      SleepFor(absl::Milliseconds(5));
      woken = true;
    });
    Yield();
    while (!woken) {
      // Never suspends.
    }
    sleeper.Join();
  });
}

TEST_P(TimerTest, AnEarlierTimerIsNotKeptWaitingByALaterOne) {
  Here([] {
    Task<void> late = Go([] { SleepFor(absl::Hours(1)); });
    Task<void> early = Go([] {
      Compute(std::chrono::milliseconds(5));
      SleepFor(absl::Milliseconds(5));
    });
    early.Join();
    late.Cancel();
    EXPECT_THROW(late.Join(), TaskCancelled);
  });
}

TEST_P(TimerTest, FiresOncePerArmAndNeverAfterDisarm) {
  Here([] {
    for (int i = 0; i < Rounds(2000); ++i) {
      CountingTimer timer;
      timer.Arm(internal::NowNanos() + i % 50 * 1000);
      if (i % 3 == 0) Yield();
      const bool disarmed = timer.Disarm();
      ASSERT_EQ(timer.fired.load(), disarmed ? 0 : 1);
      ASSERT_FALSE(timer.Disarm());
    }
  });
}

TEST_P(TimerTest, DisarmFromOtherThreadsRacesTheFiring) {
  Here([] {
    for (int i = 0; i < Rounds(400); ++i) {
      CountingTimer timer;
      std::atomic<int> disarmed{0};
      timer.Arm(internal::NowNanos() + 10'000 + i % 40 * 1000);
      Task<void> other = BlockingDetached([&] { disarmed += timer.Disarm() ? 1 : 0; });
      SleepFor(absl::Microseconds(i % 60));
      other.Join();
      disarmed += timer.Disarm() ? 1 : 0;
      ASSERT_EQ(timer.fired + disarmed, 1);
    }
  });
}

TEST_P(TimerTest, ForeverIsKeptNowhereButCountsAsArmed) {
  Here([] {
    CountingTimer timer;
    timer.Arm(internal::kForever);
    EXPECT_EQ(GetStats().timers, 0U);
    EXPECT_TRUE(timer.Disarm());
    EXPECT_FALSE(timer.Disarm());
  });
}

TEST_P(TimerTest, DeadlinesInThePastFireAtOnce) {
  Here([] {
    CountingTimer timer;
    timer.Arm(INT64_MIN);
    EXPECT_TRUE(EventuallyTrue([&] { return timer.fired == 1; }));
  });
}

TEST_P(TimerTest, ATimerMayBeArmedAgain) {
  Here([] {
    CountingTimer timer;
    for (int i = 1; i <= 100; ++i) {
      timer.Arm(internal::NowNanos());
      ASSERT_TRUE(EventuallyTrue([&] { return timer.fired == i; }));
    }
  });
}

// E5: no sleep is shorter than asked, also while fibers migrate.
TEST_P(TimerTest, NoSleepIsShort) {
  Here([] {
    std::vector<Task<void>> tasks;
    for (int k = 0; k < 8; ++k) {
      tasks.push_back(Go([k] {
        std::mt19937 random(k);
        for (int i = 0; i < Rounds(150); ++i) {
          const auto asked = std::chrono::microseconds(1 + random() % 2000);
          const auto begin = std::chrono::steady_clock::now();
          SleepFor(absl::FromChrono(asked));
          ASSERT_GE(std::chrono::steady_clock::now() - begin, asked);
        }
      }));
    }
    for (Task<void>& task : tasks) task.Join();
  });
}

// B3: timeout and event arrive together, from fibers and from a plain thread.
TEST_P(TimerTest, TimeoutAndEventTogether) {
  Here([] {
    std::atomic<bool> over{false};
    Chan<int> ch = MakeChan<int>();
    Task<void> notifier = BlockingDetached([&] {
      std::mt19937 random(1);
      while (!over) {
        (void)ch.TrySend(1);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
      }
    });
    int received = 0;
    int timeouts = 0;
    for (int i = 0; i < Rounds(4000); ++i) {
      Select(
          ch.OnRecv() >> [&](std::optional<int>) { ++received; },
          OnTimeout(absl::Microseconds(50)) >> [&] { ++timeouts; });
    }
    over = true;
    notifier.Join();
    EXPECT_EQ(received + timeouts, Rounds(4000));
  });
}

TEST_P(TimerTest, ADisarmedTimerLeavesNoEntry) {
  Here([] {
    Chan<int> ch = MakeChan<int>();
    Task<void> sender = Go([ch] {
      for (int i = 0; i < Rounds(20'000); ++i) ch.Send(i);
    });
    std::size_t most = 0;
    for (int i = 0; i < Rounds(20'000); ++i) {
      Select(
          ch.OnRecv() >> [](std::optional<int>) {}, OnTimeout(absl::Hours(1)) >> [] { FAIL(); });
      most = std::max(most, GetStats().timers);
    }
    sender.Join();
    EXPECT_LE(most, 1U);
  });
}

}  // namespace
}  // namespace csp
