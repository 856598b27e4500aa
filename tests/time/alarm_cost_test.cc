// What timers and tickers leave behind: nothing. (E7: an idle timer that leaks a bit each second.)
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "csp/chan/chan.h"
#include "csp/select/select.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/ticker.h"
#include "csp/time/time.h"
#include "csp/time/timer.h"
#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

class AlarmCostTest : public RuntimeTest {};
CSP_INSTANTIATE(AlarmCostTest);

TEST_P(AlarmCostTest, WaitingAllocatesNothing) {
  Here([] {
    StartEveryWorker();
    Ticker ticker(absl::Microseconds(10));
    Timer timer(absl::ZeroDuration());
    auto values = MakeChan<int>();
    const auto rounds = [&](int count) {
      for (int i = 0; i < count; ++i) {
        ticker.Tick();
        timer.Reset(absl::Microseconds(2));
        timer.Wait();
        timer.Reset(absl::Microseconds(2));
        Select(
            timer.OnFire(), values.OnRecv() >> [](auto) {},
            OnTimeout(absl::Microseconds(5)) >> [] {});
        SleepFor(absl::Microseconds(1));
      }
    };
    rounds(100);
    const long before = Allocations();
    rounds(Rounds(5'000));
    EXPECT_EQ(Allocations() - before, 0) << "allocations";
  });
}

long ResidentKilobytes() {
  std::ifstream file("/proc/self/statm");
  long all = 0;
  long resident = 0;
  file >> all >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// For a minute in a soak test.
TEST_P(AlarmCostTest, ATickerForLong) {
  Here([] {
    StartEveryWorker();
    Ticker ticker(absl::Milliseconds(1));
    const auto tick_for = [&](absl::Duration length) {
      for (const absl::Time end = Now() + length; Now() < end;) {
        ticker.Tick();
        Select(
            ticker.OnTick() >> [](std::int64_t) {}, OnTimeout(absl::Microseconds(500)) >> [] {});
      }
    };
    tick_for(absl::Milliseconds(50));
    const long resident = ResidentKilobytes();
    const long allocated = Allocations();
    tick_for(kSoak ? absl::Minutes(1) : absl::Milliseconds(200));
    EXPECT_EQ(Allocations() - allocated, 0) << "allocations";
    if (!kAsan && !kTsan) {  // their own records grow
      EXPECT_LE(ResidentKilobytes() - resident, 256);
    }
  });
}

TEST_P(AlarmCostTest, NobodyWaitsNothingIsArmed) {
  Here([] {
    Ticker ticker(absl::Microseconds(1));
    Timer timer(absl::Microseconds(1));
    EXPECT_EQ(GetStats().timers, 0u);
    const std::uint64_t fired = GetStats().timers_fired;
    for (int i = 0; i < 1000; ++i) {
      timer.Reset(absl::Microseconds(i));
      ticker.Reset(absl::Microseconds(i + 1));
    }
    EXPECT_EQ(GetStats().timers, 0u);
    EXPECT_EQ(GetStats().timers_fired, fired);
  });
}

}  // namespace
}  // namespace csp
