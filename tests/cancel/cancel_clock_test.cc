// Deadlines of cancel sources on a clock that the test moves. (Alone in its file: a clock may not
// come under a runtime that lives, as the default one would.)
#include "csp/base/clock.h"
#include "csp/cancel/cancel_source.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "gtest/gtest.h"

namespace csp {
namespace {

TEST(CancelClockTest, ADeadlineFollowsTheClock) {
  ManualClock clock;
  const ScopedClock scoped(&clock);
  csp::Run([&] {
    const CancelSource source({.timeout = absl::Hours(10)});
    const CancelSource child(source.token());
    clock.Advance(absl::Hours(9));
    for (int i = 0; i < 100; ++i) Yield();
    EXPECT_FALSE(source.cancelled());
    clock.Advance(absl::Hours(1));
    child.token().Wait();
    EXPECT_TRUE(absl::IsDeadlineExceeded(source.token().cause()));
  });
}

}  // namespace
}  // namespace csp
