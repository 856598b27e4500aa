// Timeouts as events: of all that is ready they come last, and none leaves anything behind.
// (Decision 13, D7.)

#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelectTimeTest = RuntimeTest;
CSP_INSTANTIATE(SelectTimeTest);

constexpr auto Says(int which) {
  return [which](const auto&...) { return which; };
}

const absl::Duration kOver[] = {absl::ZeroDuration(), absl::Nanoseconds(-1), absl::Hours(-1),
                                -absl::InfiniteDuration()};

TEST_P(SelectTimeTest, ZeroAndNegativeAreOverAtOnce) {
  Here([] {
    auto never = MakeChan<int>();
    for (absl::Duration over : kOver) {
      EXPECT_EQ(Select(never.OnRecv() >> Says(0), OnTimeout(over) >> Says(1)), 1);
      EXPECT_EQ(Select(OnTimeout(over) >> Says(1)), 1);
    }
    EXPECT_EQ(Select(never.OnRecv() >> Says(0), OnDeadline(Now()) >> Says(1)), 1);
    EXPECT_EQ(Select(never.OnRecv() >> Says(0), OnDeadline(absl::InfinitePast()) >> Says(1)), 1);
    EXPECT_EQ(Select(never.OnRecv() >> Says(0), OnDeadline(absl::UnixEpoch()) >> Says(1)), 1);
  });
}

TEST_P(SelectTimeTest, WhatIsReadyWinsOverWhatIsOver) {
  Here([] {
    auto ch = MakeChan<int>(1);
    ch.Send(1);
    for (int i = 0; i < Rounds(5'000); ++i) {
      for (absl::Duration over : kOver) {
        ASSERT_EQ(Select(OnTimeout(over) >> Says(0), ch.OnRecv() >> Says(1)), 1);
        ASSERT_EQ(PriSelect(ch.OnSend(1) >> Says(1), OnTimeout(over) >> Says(0)), 1);
      }
      ASSERT_EQ(Select(OnDeadline(absl::InfinitePast()) >> Says(0), ch.OnRecv() >> Says(1)), 1);
      ch.Send(1);
    }
  });
}

// B11: of a wait that is over as soon as it begins nothing is left that the event could stumble on.
TEST_P(SelectTimeTest, TheEventAfterAnEmptyWait) {
  Here([] {
    const absl::Duration waits[] = {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Hours(-1)};
    const auto forever = absl::InfiniteDuration();
    for (int i = 0; i < Rounds(1'000); ++i) {
      const absl::Duration wait = waits[i % 3];
      Event event;
      ASSERT_EQ(Select(event.OnWait() >> Says(0), OnTimeout(wait) >> Says(1)), 1);
      event.Set();
      ASSERT_EQ(Select(event.OnWait() >> Says(0), OnTimeout(wait) >> Says(1)), 0);

      auto ch = MakeChan<int>(1);
      ASSERT_EQ(Select(ch.OnRecv() >> Says(0), OnTimeout(wait) >> Says(1)), 1);
      ASSERT_TRUE(ch.TrySend(1));
      ASSERT_EQ(Select(ch.OnSend(2) >> Says(0), OnTimeout(wait) >> Says(1)), 1);
      ASSERT_EQ(ch.Recv(), 1);
      ASSERT_EQ(ch.len(), 0u);

      Timer timer(forever);
      ASSERT_EQ(Select(timer.OnFire() >> Says(0), OnTimeout(wait) >> Says(1)), 1);
      timer.Reset(absl::ZeroDuration());
      ASSERT_EQ(Select(timer.OnFire() >> Says(0), OnTimeout(forever) >> Says(1)), 0);

      Ticker ticker(forever);
      ASSERT_EQ(Select(ticker.OnTick() >> Says(0), OnTimeout(wait) >> Says(1)), 1);
      ticker.Reset(absl::Nanoseconds(1));
      ASSERT_EQ(Select(ticker.OnTick() >> Says(0), OnTimeout(forever) >> Says(1)), 0);

      Event gate;
      Task<void> task = Go([&] { gate.Wait(); });
      ASSERT_EQ(Select(task.OnJoin() >> Says(0), OnTimeout(wait) >> Says(1)), 1);
      gate.Set();
      ASSERT_EQ(Select(task.OnJoin() >> Says(0), OnTimeout(forever) >> Says(1)), 0);
    }
  });
}

TEST_P(SelectTimeTest, AShortOneEndsAWait) {
  Here([] {
    auto never = MakeChan<int>();
    for (int i = 0; i < Rounds(200); ++i) {
      ASSERT_EQ(Select(never.OnRecv() >> Says(0), never.OnSend(1) >> Says(1),
                       OnTimeout(absl::Microseconds(i % 50 + 1)) >> Says(2)),
                2);
      ASSERT_EQ(Select(never.OnRecv() >> Says(0),
                       OnDeadline(Now() + absl::Microseconds(i % 50)) >> Says(2)),
                2);
    }
  });
}

TEST_P(SelectTimeTest, IsNotOverBeforeItsTime) {
  Here([] {
    for (int i = 0; i < 20; ++i) {
      const absl::Duration wait = absl::Microseconds(i * 100);
      const absl::Time start = Now();
      Select(OnTimeout(wait));
      EXPECT_GE(Now() - start, wait);
    }
  });
}

TEST_P(SelectTimeTest, AnInfiniteOneNeverComes) {
  Here([] {
    for (int i = 0; i < Rounds(500); ++i) {
      auto ch = MakeChan<int>();
      Task<void> sender = Go([ch] { ch.Send(1); });
      ASSERT_EQ(Select(OnTimeout(absl::InfiniteDuration()) >> Says(0),
                       OnDeadline(absl::InfiniteFuture()) >> Says(0), ch.OnRecv() >> Says(1)),
                1);
      sender.Join();
      EXPECT_EQ(Select(OnTimeout(absl::InfiniteDuration()) >> Says(0), Default >> Says(1)), 1);
    }
  });
}

// Too long for the time line: saturates, and does not come at once.
TEST_P(SelectTimeTest, AnOverlongOneNeverComes) {
  Here([] {
    auto ch = MakeChan<int>();
    for (absl::Duration wait : {absl::Hours(24 * 365 * 250), absl::Hours(24 * 365 * 10'000)}) {
      Task<void> sender = Go([ch] { ch.Send(1); });
      EXPECT_EQ(Select(OnTimeout(wait) >> Says(0), ch.OnRecv() >> Says(1)), 1);
      sender.Join();
    }
  });
}

TEST_P(SelectTimeTest, OfTwoThatAreOverTheEarlierWins) {
  Here([] {
    const absl::Time now = Now();
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(Select(OnDeadline(now - absl::Seconds(1)) >> Says(0),
                       OnDeadline(now - absl::Seconds(2)) >> Says(1)),
                1);
      EXPECT_EQ(Select(OnDeadline(now - absl::Seconds(1)) >> Says(0),
                       OnDeadline(now - absl::Seconds(1)) >> Says(1)),
                0);
    }
  });
}

TEST_P(SelectTimeTest, OfTwoThatAreWaitedForTheEarlierWins) {
  Here([] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(Select(OnTimeout(absl::Hours(1)) >> Says(0),
                       OnTimeout(absl::Microseconds(10)) >> Says(1)),
                1);
      EXPECT_EQ(Select(OnTimeout(absl::Microseconds(10)) >> Says(0),
                       OnTimeout(absl::Microseconds(10)) >> Says(1)),
                0);
    }
  });
}

// A timeout against a value, at about the same time: both sides agree on what happened.
TEST_P(SelectTimeTest, TimeoutAgainstValue) {
  Here([] {
    auto ch = MakeChan<int>();
    int received = 0;
    Task<int> sender = Go([ch] {
      int sent = 0;
      for (int i = 0; i < Rounds(5'000); ++i) {
        sent += Select(ch.OnSend(i) >> Says(1), OnTimeout(absl::Microseconds(i % 13)) >> Says(0));
      }
      ch.Close();
      return sent;
    });
    for (int i = 0;; ++i) {
      bool open = true;
      Select(
          ch.OnRecv() >>
              [&](std::optional<int> v) {
                open = v.has_value();
                received += open ? 1 : 0;
              },
          OnTimeout(absl::Microseconds(i % 17)));
      if (!open) break;
    }
    EXPECT_EQ(sender.Join(), received);
  });
}

}  // namespace
}  // namespace csp
