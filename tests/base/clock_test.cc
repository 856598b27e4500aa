#include "csp/base/clock.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace csp {
namespace {

using internal::DeadlineAfter;
using internal::kForever;

constexpr std::int64_t kDay = std::int64_t{24} * 3600 * 1'000'000'000;

// --- Deadlines.

TEST(DeadlineTest, AddsTheDelay) {
  EXPECT_EQ(DeadlineAfter(100, absl::Nanoseconds(1)), 101);
  EXPECT_EQ(DeadlineAfter(100, absl::Seconds(2)), 2'000'000'100);
}

TEST(DeadlineTest, ADelayThatIsOverIsNow) {
  for (const absl::Duration delay :
       {absl::ZeroDuration(), absl::Nanoseconds(-1), absl::Hours(-1), -absl::InfiniteDuration()}) {
    EXPECT_EQ(DeadlineAfter(100, delay), 100) << delay;
  }
}

TEST(DeadlineTest, Saturates) {
  EXPECT_EQ(DeadlineAfter(100, absl::InfiniteDuration()), kForever);
  EXPECT_EQ(DeadlineAfter(100, absl::Nanoseconds(INT64_MAX)), kForever);
  EXPECT_EQ(DeadlineAfter(kForever - 1, absl::Nanoseconds(1)), kForever);
  EXPECT_EQ(DeadlineAfter(kForever - 1, absl::Nanoseconds(2)), kForever);
  EXPECT_EQ(DeadlineAfter(kForever, absl::Nanoseconds(1)), kForever);
  EXPECT_EQ(DeadlineAfter(0, absl::Hours(24) * 365 * 1000), kForever);  // past the year 2262
}

// A delay of less than a nanosecond is none: a wait of it does not wait.
TEST(DeadlineTest, FractionsOfANanosecondAreDropped) {
  EXPECT_EQ(DeadlineAfter(100, absl::Nanoseconds(1) / 4), 100);
  EXPECT_EQ(DeadlineAfter(100, absl::Nanoseconds(1) * 1.75), 101);
}

TEST(DeadlineTest, MomentsAndTimesAreTheSame) {
  EXPECT_EQ(internal::ToTime(0), absl::UnixEpoch());
  EXPECT_EQ(internal::ToTime(kForever), absl::InfiniteFuture());
  EXPECT_EQ(internal::FromTime(absl::InfiniteFuture()), kForever);
  for (const std::int64_t moment : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, kDay}) {
    EXPECT_EQ(internal::FromTime(internal::ToTime(moment)), moment);
  }
  EXPECT_EQ(internal::FromTime(absl::InfinitePast()), INT64_MIN);
  EXPECT_EQ(internal::FromTime(absl::UnixEpoch() + absl::Hours(24) * 365 * 1000), kForever);
}

// --- The machine's clock.

TEST(RealClockTest, IsTheWallClock) {
  EXPECT_TRUE(internal::CurrentClock().Runs());
  const absl::Duration off = internal::ToTime(internal::NowNanos()) - absl::Now();
  EXPECT_LT(absl::AbsDuration(off), absl::Minutes(1));  // unless somebody sets it just now
}

TEST(RealClockTest, AdvancesWithTheMonotonicClock) {
  const std::int64_t before = internal::NowNanos();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(internal::NowNanos() - before, 5'000'000);
}

// Not on one thread, and not from what one has been told to what another is told.
TEST(RealClockTest, NeverGoesBackwards) {
  std::atomic<std::int64_t> latest{0};
  std::atomic<int> backwards{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20'000; ++k) {
        std::int64_t told = latest.load();
        const std::int64_t now =
            k % 2 == 0 ? internal::NowNanos() : internal::CurrentClock().NowNanos();
        if (now < told) ++backwards;
        while (told < now && !latest.compare_exchange_weak(told, now)) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(backwards.load(), 0);
}

// --- Virtual time.

TEST(ManualClockTest, StandsStillUntilItIsMoved) {
  ManualClock clock;
  EXPECT_FALSE(clock.Runs());
  EXPECT_EQ(clock.NowNanos(), kDay);
  EXPECT_EQ(clock.NowNanos(), kDay);
  clock.Advance(absl::Seconds(3));
  EXPECT_EQ(clock.NowNanos(), kDay + 3'000'000'000);
  EXPECT_EQ(ManualClock(absl::Nanoseconds(7)).NowNanos(), 7);
}

TEST(ManualClockTest, NeverGoesBackwardsAndSaturates) {
  ManualClock clock(absl::Seconds(1));
  clock.Advance(absl::Seconds(-1));
  clock.Advance(absl::ZeroDuration());
  EXPECT_EQ(clock.NowNanos(), 1'000'000'000);
  clock.Advance(absl::InfiniteDuration());
  EXPECT_EQ(clock.NowNanos(), kForever);
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(clock.NowNanos(), kForever);
}

TEST(ManualClockTest, MayBeAdvancedByMany) {
  ManualClock clock(absl::ZeroDuration());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) clock.Advance(absl::Nanoseconds(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clock.NowNanos(), 4000);
}

TEST(ScopedClockTest, ItsClockIsTheProcesss) {
  ManualClock clock(absl::Nanoseconds(5));
  {
    const ScopedClock use(&clock);
    EXPECT_EQ(&internal::CurrentClock(), &clock);
    EXPECT_EQ(internal::NowNanos(), 5);
    clock.Advance(absl::Nanoseconds(1));
    EXPECT_EQ(internal::NowNanos(), 6);
  }
  EXPECT_TRUE(internal::CurrentClock().Runs());
  EXPECT_GT(internal::NowNanos(), kDay);
}

// A listener stands for a runtime here; tests/sched has a real one.
class Silent final : public internal::ClockListener {
 public:
  void ClockMoved() override {}
};

TEST(ScopedClockDeathTest, MadeBesideAListener) {
  EXPECT_DEATH(
      {
        Silent listener;
        internal::AddClockListener(&listener);
        ManualClock clock;
        const ScopedClock use(&clock);
      },
      "csp: ScopedClock: made while a runtime lives; make it before Run");
}

TEST(ScopedClockDeathTest, EndsBesideAListener) {
  EXPECT_DEATH(
      {
        Silent listener;
        ManualClock clock;
        const ScopedClock use(&clock);
        internal::AddClockListener(&listener);
      },
      "csp: ScopedClock: ends while a runtime lives; make it before Run");
}

// --- Listeners.

class Listener final : public internal::ClockListener {
 public:
  explicit Listener(Clock& clock) : clock_(clock) {}
  void ClockMoved() override {
    ++calls;
    seen = clock_.NowNanos();
  }

  int calls = 0;
  std::int64_t seen = 0;

 private:
  Clock& clock_;
};

TEST(ClockListenerTest, IsToldAfterTheClockHasMoved) {
  ManualClock clock(absl::ZeroDuration());
  Listener first(clock);
  Listener second(clock);
  internal::AddClockListener(&first);
  internal::AddClockListener(&second);
  clock.Advance(absl::Nanoseconds(9));
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(first.seen, 9);
  EXPECT_EQ(second.calls, 1);
  internal::RemoveClockListener(&first);
  clock.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(second.calls, 2);
  internal::RemoveClockListener(&second);
  internal::RemoveClockListener(&second);  // is in no list: nothing happens
  clock.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(second.calls, 2);
}

// Workers read it to the very end. (Only an unoptimized build ever noticed.)
TEST(ClockDeathTest, TheMachinesClockOutlivesStaticObjects) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::atexit([] { std::_Exit(internal::CurrentClock().Runs() ? 7 : 8); });
        if (!internal::CurrentClock().Runs()) std::_Exit(9);
        std::exit(0);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace csp
