// The try and the timed forms: what they take, leave and say.
#include <optional>
#include <utility>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/chan/counted.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using ChanTryTest = RuntimeTest;
CSP_INSTANTIATE(ChanTryTest);

TEST_P(ChanTryTest, TryLeavesTheValueWhenItFails) {
  Here([] {
    auto ch = MakeChan<Counted>();
    Counted value(5);
    EXPECT_FALSE(ch.TrySend(std::move(value)));
    EXPECT_FALSE(ch.SendFor(absl::ZeroDuration(), std::move(value)));
    EXPECT_FALSE(ch.SendFor(absl::Nanoseconds(1), std::move(value)));
    EXPECT_FALSE(ch.SendFor(-absl::InfiniteDuration(), std::move(value)));
    EXPECT_EQ(value.value(), 5);
    std::optional<Counted> out;
    EXPECT_FALSE(ch.TryRecv(out));
    EXPECT_FALSE(ch.RecvFor(absl::ZeroDuration(), out));
    EXPECT_FALSE(ch.RecvFor(absl::Nanoseconds(1), out));
    EXPECT_FALSE(ch.RecvFor(-absl::InfiniteDuration(), out));
    EXPECT_FALSE(out.has_value());
  });
}

TEST_P(ChanTryTest, FailedTryRecvEmptiesItsArgument) {
  Here([] {
    auto ch = MakeChan<Counted>();
    std::optional<Counted> out;
    out.emplace(1);
    EXPECT_FALSE(ch.TryRecv(out));
    EXPECT_FALSE(out.has_value());
    out.emplace(1);
    EXPECT_FALSE(ch.RecvFor(absl::ZeroDuration(), out));
    EXPECT_FALSE(out.has_value());
    EXPECT_EQ(Counted::live(), 0);
  });
}

// D7: a value that is there wins over a timeout that has passed.
TEST_P(ChanTryTest, ReadyWinsOverATimeoutThatHasPassed) {
  Here([] {
    auto ch = MakeChan<int>(1);
    std::optional<int> v;
    for (absl::Duration timeout : {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Seconds(-1),
                                   -absl::InfiniteDuration()}) {
      EXPECT_TRUE(ch.SendFor(timeout, 1));
      EXPECT_TRUE(ch.RecvFor(timeout, v));
      EXPECT_EQ(v, 1);
    }
  });
}

TEST_P(ChanTryTest, TimedFormsMeet) {
  Here([] {
    auto ch = MakeChan<int>();
    for (int i = 0; i < Rounds(2'000); ++i) {
      Task<bool> sender = Go([ch, i] { return ch.SendFor(absl::Hours(1), i); });
      std::optional<int> v;
      ASSERT_TRUE(ch.RecvFor(absl::InfiniteDuration(), v));
      ASSERT_EQ(v, i);
      ASSERT_TRUE(sender.Join());
    }
  });
}

// B3, B11: timeout and value arrive together; whatever happens, both sides agree.
TEST_P(ChanTryTest, TimeoutAgainstValueLosesNothing) {
  Here([] {
    for (auto ch : {MakeChan<Counted>(), MakeChan<Counted>(1)}) {
      int sent = 0;
      int received = 0;
      Task<int> sender = Go([ch] {
        int sent = 0;
        for (int i = 0; i < Rounds(3'000); ++i) {
          Counted value(i);
          if (ch.SendFor(absl::Microseconds(i % 20), std::move(value))) {
            EXPECT_TRUE(value.empty());
            ++sent;
          } else {
            EXPECT_EQ(value.value(), i);
          }
        }
        ch.Close();
        return sent;
      });
      int i = 0;
      for (;;) {
        std::optional<Counted> out;
        if (!ch.RecvFor(absl::Microseconds(i++ % 20), out)) continue;
        if (!out.has_value()) break;
        ++received;
      }
      sent = sender.Join();
      EXPECT_EQ(sent, received);
      EXPECT_EQ(Counted::live(), 0);
    }
  });
}

// C3: whoever only tries never waits for the others, and nothing is lost.
TEST_P(ChanTryTest, ManyWhoOnlyTryAtCapacityOne) {
  Here([] {
    auto ch = MakeChan<Counted>(1);
    const auto only_try = [ch] {
      int surplus = 0;
      std::optional<Counted> out;
      for (int i = 0; i < Rounds(100'000); ++i) {
        surplus += ch.TrySend(Counted(i)) ? 1 : 0;
        surplus -= ch.TryRecv(out) ? 1 : 0;
      }
      return surplus;
    };
    std::vector<Task<int>> tasks;
    for (int k = 0; k < 2; ++k) {
      tasks.push_back(Go(only_try));
      tasks.push_back(BlockingDetached(only_try));  // on a thread
    }
    int surplus = 0;
    for (Task<int>& task : tasks) surplus += task.Join();
    EXPECT_EQ(surplus, static_cast<int>(ch.len()));
    std::optional<Counted> last;
    (void)ch.TryRecv(last);
    last.reset();
    EXPECT_EQ(Counted::live(), 0);
  });
}

}  // namespace
}  // namespace csp
