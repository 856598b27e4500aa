// Timeouts in selects: do long ones cost nothing when they do not come, and does a loop of short
// ones come to its end?

#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using TimersTest = RuntimeTest;
CSP_INSTANTIATE(TimersTest);

TEST_P(TimersTest, NoneIsLeft) {
  Here([] {
    auto ch = MakeChan<int>(), back = MakeChan<int>();
    Task<void> echo = Go([=] {
      for (int v : ch) back.Send(v);
    });
    for (int i = 0; i < Rounds(2'000); ++i) {
      Select(
          ch.OnSend(i), OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
      Select(
          back.OnRecv() >> [&](std::optional<int> v) { EXPECT_EQ(v, i); },
          OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
    }
    ch.Close();
    echo.Join();
    EXPECT_EQ(GetStats().timers, 0u);
  });
}

// A timeout for the whole conversation, beside one for each message.
TEST_P(TimersTest, ADeadlineForALoop) {
  Here([] {
    auto ch = MakeChan<int>();
    Event over;
    Task<void> sender = Go([&] {
      for (bool go_on = true; go_on;) {
        Select(
            ch.OnSend(1), over.OnWait() >> [&] { go_on = false; });
      }
    });
    const absl::Time deadline = Now() + absl::Milliseconds(2);
    int received = 0;
    for (bool go_on = true; go_on;) {
      // A stream that is always ready never lets a timeout through; PriSelect does not either.
      if (Now() >= deadline) break;
      Select(
          ch.OnRecv() >> [&](std::optional<int>) { ++received; },
          OnDeadline(deadline) >> [&] { go_on = false; });
    }
    EXPECT_GE(Now(), deadline);
    over.Set();
    sender.Join();
  });
}

}  // namespace
}  // namespace csp
