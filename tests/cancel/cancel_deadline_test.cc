// Deadlines of cancel sources: the earliest of the path counts, and one timer does.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "csp/cancel/cancel_callback.h"
#include "csp/cancel/cancel_source.h"
#include "csp/cls/local.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using CancelDeadlineTest = RuntimeTest;
CSP_INSTANTIATE(CancelDeadlineTest);

TEST_P(CancelDeadlineTest, CancelsWhenTheTimeHasCome) {
  Here([] {
    const absl::Time before = Now();
    const CancelSource source({.timeout = absl::Microseconds(100)});
    EXPECT_GE(source.token().deadline(), before + absl::Microseconds(100));
    source.token().Wait();
    EXPECT_GE(Now(), source.token().deadline());
    EXPECT_TRUE(absl::IsDeadlineExceeded(source.token().cause()));
    EXPECT_FALSE(source.Cancel());
  });
}

TEST_P(CancelDeadlineTest, WithACauseOfItsOwn) {
  Here([] {
    const CancelSource source({.deadline = Now() + absl::Microseconds(100),
                               .deadline_cause = absl::UnavailableError("too slow")});
    source.token().Wait();
    EXPECT_EQ(source.token().cause(), absl::UnavailableError("too slow"));
  });
}

TEST_P(CancelDeadlineTest, WhatHasPassedCancelsAtOnce) {
  Here([] {
    EXPECT_TRUE(CancelSource({.timeout = absl::ZeroDuration()}).cancelled());
    EXPECT_TRUE(CancelSource({.timeout = -absl::InfiniteDuration()}).cancelled());
    EXPECT_TRUE(CancelSource({.deadline = absl::InfinitePast()}).cancelled());
    EXPECT_TRUE(
        absl::IsDeadlineExceeded(CancelSource({.deadline = absl::UnixEpoch()}).token().cause()));
  });
}

TEST_P(CancelDeadlineTest, WhatIsAboveMayHaveBeenTheFirst) {
  Here([] {
    const CancelSource above;
    above.Cancel(absl::AbortedError("first"));
    const CancelSource late({.parent = above.token(), .timeout = absl::ZeroDuration()});
    EXPECT_EQ(late.token().cause(), absl::AbortedError("first"));
  });
}

TEST_P(CancelDeadlineTest, TheEarlierOfTheTwoOptionsCounts) {
  Here([] {
    const absl::Time soon = Now() + absl::Hours(1);
    const CancelSource a({.timeout = absl::Hours(5), .deadline = soon});
    EXPECT_EQ(a.token().deadline(), soon);
    const CancelSource b({.timeout = absl::Minutes(5), .deadline = soon});
    EXPECT_LT(b.token().deadline(), soon);
    EXPECT_EQ(CancelSource().token().deadline(), absl::InfiniteFuture());
  });
}

TEST_P(CancelDeadlineTest, TheEarliestOfThePathCounts) {
  Here([] {
    const absl::Time now = Now();
    const CancelSource root({.deadline = now + absl::Hours(2)});
    const CancelSource later({.parent = root.token(), .deadline = now + absl::Hours(3)});
    const CancelSource earlier({.parent = later.token(), .deadline = now + absl::Hours(1)});
    const CancelSource none(earlier.token());
    EXPECT_EQ(root.token().deadline(), now + absl::Hours(2));
    EXPECT_EQ(later.token().deadline(), now + absl::Hours(2));
    EXPECT_EQ(earlier.token().deadline(), now + absl::Hours(1));
    EXPECT_EQ(none.token().deadline(), now + absl::Hours(1));
  });
}

TEST_P(CancelDeadlineTest, TheParentsDeadlineReachesAll) {
  Here([] {
    const CancelSource root({.timeout = absl::Microseconds(200)});
    const CancelSource child({.parent = root.token(), .timeout = absl::Hours(1)});
    const CancelSource grandchild(child.token());
    grandchild.token().Wait();
    EXPECT_TRUE(root.cancelled());
    EXPECT_TRUE(absl::IsDeadlineExceeded(grandchild.token().cause()));
  });
}

// (The fixture sees that no timer stays armed.)
TEST_P(CancelDeadlineTest, ACancelStopsTheTimer) {
  Here([] {
    const CancelSource root;
    const CancelSource child({.parent = root.token(), .timeout = absl::Hours(1)});
    root.Cancel();
    EXPECT_TRUE(absl::IsCancelled(child.token().cause()));
  });
}

TEST_P(CancelDeadlineTest, WhatNobodyUsesHasNoTimer) {
  Here([] {
    for (int i = 0; i < 100; ++i) {
      CancelToken token;
      {
        const CancelSource source({.timeout = absl::Hours(1)});
        token = source.token();
      }
      EXPECT_FALSE(token.cancelled());
    }
  });
}

TEST_P(CancelDeadlineTest, ATokenKeepsTheDeadline) {
  Here([] {
    const CancelToken token = CancelSource({.timeout = absl::Microseconds(100)}).token();
    token.Wait();
    EXPECT_TRUE(absl::IsDeadlineExceeded(token.cause()));
  });
}

// The deadline against whatever else may be the end of the source.
TEST_P(CancelDeadlineTest, AtAnyMoment) {
  Here([] {
    for (int i = 0; i < Rounds(500); ++i) {
      CancelSource source({.timeout = absl::Microseconds(i % 50)});
      int called = 0;
      {
        CancelCallback callback(source.token(), [&]() noexcept { ++called; });
        for (int k = 0; k < i % 5; ++k) Yield();
        if (i % 3 == 0) {
          const bool first = source.Cancel();
          EXPECT_EQ(absl::IsCancelled(source.token().cause()), first);
        }
        if (i % 3 == 1) source = CancelSource();
        const bool stopped = callback.Stop();
        EXPECT_EQ(called, stopped ? 0 : 1);
      }
    }
  });
}

// What a callback keeps in a Local, on the deadline's own fiber, is destroyed there.
TEST_P(CancelDeadlineTest, ACallbackMayUseLocals) {
  Here([] {
    struct Value {
      std::shared_ptr<int> counted;
    };
    static Local<Value> local;
    auto counted = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = counted;
    std::atomic<bool> called{false};
    const CancelSource source({.timeout = absl::Microseconds(100)});
    CancelCallback callback(source.token(), [&]() noexcept {
      local->counted = std::move(counted);
      called = true;
    });
    EXPECT_TRUE(EventuallyTrue([&] { return called.load(); }));
    EXPECT_FALSE(callback.Stop());
    EXPECT_TRUE(EventuallyTrue([&] { return watch.expired(); }));
  });
}

// The runtime that kept the timer has gone: the source is used, and dropped, elsewhere.
TEST(CancelDeadlineEndTest, ASourceMayOutliveItsRuntime) {
  std::unique_ptr<CancelSource> source;
  csp::Run(
      [&] { source = std::make_unique<CancelSource>(CancelOptions{.timeout = absl::Hours(1)}); });
  EXPECT_FALSE(source->cancelled());
  const CancelSource child(source->token());
  EXPECT_TRUE(source->Cancel());
  EXPECT_TRUE(child.cancelled());
  csp::Run(
      [&] { source = std::make_unique<CancelSource>(CancelOptions{.timeout = absl::Hours(1)}); });
  source.reset();
}

TEST(CancelDeadlineEndTest, WhatHasPassedNeedsNoTimerOfAnEndedRuntime) {
  std::unique_ptr<CancelSource> above;
  csp::Run([&] {
    above = std::make_unique<CancelSource>(CancelOptions{.timeout = absl::Milliseconds(1)});
  });
  csp::SleepUntil(above->token().deadline());
  EXPECT_TRUE(
      CancelSource({.parent = above->token(), .timeout = absl::ZeroDuration()}).cancelled());
}

}  // namespace
}  // namespace csp
