// Descriptors under a clock that stands still: deadlines are of its time, readiness is of the world's.
#include <atomic>
#include <functional>
#include <string>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/net/net_test.h"

namespace csp {
namespace {

// (The default runtime would have to know the clock already: no plain threads here.)
class VirtualTimeTest : public testing::TestWithParam<int> {
 protected:
  void Here(const std::function<void(ManualClock&)>& body) {
    ManualClock clock;
    const ScopedClock use(&clock);
    const Watchdog watchdog;
    csp::Run([&] { body(clock); }, {.workers = GetParam()});
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, VirtualTimeTest, testing::Values(1, 2, 4));

TEST_P(VirtualTimeTest, ADeadlinePassesWhenTheClockIsMoved) {
  Here([](ManualClock& clock) {
    Pipe pipe;
    pipe.in.SetReadDeadline(Now() + absl::Hours(1));
    Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
    AwaitWaiters(1);
    clock.Advance(absl::Minutes(59));
    EXPECT_FALSE(reader.done());
    clock.Advance(absl::Minutes(1));
    EXPECT_EQ(reader.Join(), "!Descriptor::Read: the deadline has passed");
  });
}

TEST_P(VirtualTimeTest, WhatIsReadyIsSeenAlthoughNoTimePasses) {
  Here([](ManualClock&) {
    Pipe pipe;
    std::atomic<bool> over{false};
    Task<void> busy = Go([&] {
      while (!over) Yield();
    });
    for (int i = 0; i < 100; ++i) {
      Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
      AwaitWaiters(1);
      EXPECT_TRUE(pipe.out.WriteAll("x").ok());
      EXPECT_EQ(reader.Join(), "x");
    }
    over = true;
    busy.Join();
  });
}

}  // namespace
}  // namespace csp
