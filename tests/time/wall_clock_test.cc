// E4: setting the wall clock neither lengthens nor shortens a wait, and Now() takes no notice.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>

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

namespace {

std::atomic<long> wall_clock_offset{0};  // seconds
std::atomic<int> wall_clock_readings{0};

}  // namespace

// In place of the C library's, for everything in this program.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) {
    ++wall_clock_readings;
    time->tv_sec += wall_clock_offset;
  }
  return static_cast<int>(result);
}

namespace csp {
namespace {

using WallClockTest = RuntimeTest;
CSP_INSTANTIATE(WallClockTest);

// One wait of each kind.
void Wait() {
  const Chan<int> never = MakeChan<int>();
  const absl::Duration wait = absl::Milliseconds(1);
  SleepFor(wait);
  SleepUntil(Now() + wait);
  std::optional<int> out;
  EXPECT_FALSE(never.RecvFor(wait, out));
  Select(
      never.OnRecv() >> [](std::optional<int>) { ADD_FAILURE(); }, OnTimeout(wait) >> [] {});
  Timer(wait).Wait();
  EXPECT_GE(Ticker(wait).Tick(), 1);
}

TEST_P(WallClockTest, MayBeSetAtAnyTime) {
  Here([] {
    (void)Now();
    const auto machine = [] { return std::chrono::system_clock::now(); };
    for (const long offset : {-3600L * 24 * 365, 3600L * 24 * 365, 0L}) {
      const auto wall_before = machine();
      const absl::Time before = Now();
      const auto begin = std::chrono::steady_clock::now();
      Task<void> asleep = Go([] { SleepFor(absl::Milliseconds(20)); });
      Yield();
      wall_clock_offset = offset;
      EXPECT_GT(std::chrono::abs(machine() - wall_before), std::chrono::hours(24 * 300));
      const int readings = wall_clock_readings;
      Wait();
      asleep.Join();
      EXPECT_EQ(wall_clock_readings, readings) << "something goes by the wall clock";
      EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
      EXPECT_GE(Now() - before, absl::Milliseconds(20));
      EXPECT_LT(Now() - before, absl::Hours(1));
    }
  });
}

}  // namespace
}  // namespace csp
