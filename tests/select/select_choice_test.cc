// Which of several ready cases Select and PriSelect take. (Decisions 10, 11.)
#include <cstddef>
#include <optional>
#include <vector>

#include "csp/base/random.h"
#include "csp/csp.h"
#include "csp/select/select.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

// A handler that says which case it was.
constexpr auto Says(int which) {
  return [which](const auto&...) { return which; };
}

Chan<int> ReadyChan() {
  auto ch = MakeChan<int>(1);
  ch.Send(0);
  return ch;
}

// Pearson's statistic against equal shares.
double ChiSquare(const std::vector<int>& counts) {
  double total = 0;
  for (int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// The largest value of the statistic that chance exceeds in one of 10,000 runs. With the seed fixed
// there is no chance in it.
constexpr double kOneDegree = 15.14, kThreeDegrees = 21.11;

class SelectChoiceTest : public testing::Test {
 protected:
  void SetUp() override { internal::SetRandomSeed(20240229); }
};

// A random start and then in turn would give 1/3 : 2/3.
TEST_F(SelectChoiceTest, IsUniformAmongTheReady) {
  RunAt({1}, [] {
    auto a = ReadyChan(), never = MakeChan<int>(), b = ReadyChan();
    std::vector<int> won(3);
    for (int i = 0; i < 20'000; ++i) {
      const int which =
          Select(a.OnRecv() >> Says(0), never.OnRecv() >> Says(1), b.OnRecv() >> Says(2));
      ++won[static_cast<std::size_t>(which)];
      (which == 0 ? a : b).Send(0);
    }
    EXPECT_EQ(won[1], 0);
    EXPECT_LT(ChiSquare({won[0], won[2]}), kOneDegree) << won[0] << " : " << won[2];
  });
}

TEST_F(SelectChoiceTest, IsUniformWhereverTheReadyOnesStand) {
  RunAt({1}, [] {
    auto a = ReadyChan(), b = ReadyChan(), c = ReadyChan(), d = ReadyChan();
    auto never = MakeChan<int>();
    Chan<int> nil;
    std::vector<int> won(4);
    for (int i = 0; i < 20'000; ++i) {
      const int which = Select(a.OnRecv() >> Says(0), b.OnRecv() >> Says(1),
                               never.OnRecv() >> Says(9), nil.OnRecv() >> Says(9),
                               When(false, a.OnRecv() >> Says(9)), never.OnSend(1) >> Says(9),
                               c.OnRecv() >> Says(2), OnTimeout(absl::Hours(1)) >> Says(9),
                               never.OnRecv() >> Says(9), d.OnRecv() >> Says(3));
      ASSERT_LT(which, 4);
      ++won[static_cast<std::size_t>(which)];
      (which == 0 ? a : which == 1 ? b : which == 2 ? c : d).Send(0);
    }
    EXPECT_LT(ChiSquare(won), kThreeDegrees);
  });
}

TEST_F(SelectChoiceTest, SendsAndReceivesAreEqual) {
  RunAt({1}, [] {
    auto full = ReadyChan(), empty = MakeChan<int>(1);
    std::vector<int> won(2);
    for (int i = 0; i < 20'000; ++i) {
      const int which = Select(full.OnRecv() >> Says(0), empty.OnSend(1) >> Says(1));
      ++won[static_cast<std::size_t>(which)];
      if (which == 0) full.Send(0);
      if (which == 1) (void)empty.Recv();
    }
    EXPECT_LT(ChiSquare(won), kOneDegree);
  });
}

// --- PriSelect.

using PriSelectTest = RuntimeTest;
CSP_INSTANTIATE(PriSelectTest);

// Decision 11, D9: the stop signal wins over a full data channel, always.
TEST_P(PriSelectTest, TakesTheFirstReady) {
  Here([] {
    auto stop = ReadyChan(), data = ReadyChan(), never = MakeChan<int>();
    for (int i = 0; i < Rounds(100'000); ++i) {
      ASSERT_EQ(
          PriSelect(never.OnRecv() >> Says(0), stop.OnRecv() >> Says(1), data.OnRecv() >> Says(2)),
          1);
      stop.Send(0);
    }
    (void)stop.Recv();
    EXPECT_EQ(
        PriSelect(never.OnRecv() >> Says(0), stop.OnRecv() >> Says(1), data.OnRecv() >> Says(2)),
        2);
  });
}

// A deadline that has passed stops a loop whose channels never run dry.
TEST_P(PriSelectTest, AMomentThatHasComeHasItsPlaceInTheOrder) {
  Here([] {
    auto data = ReadyChan();
    const absl::Time past = Now() - absl::Seconds(1);
    const absl::Time future = Now() + absl::Hours(1);
    EXPECT_EQ(PriSelect(OnDeadline(past) >> Says(0), data.OnRecv() >> Says(1)), 0);
    EXPECT_EQ(PriSelect(OnTimeout(absl::ZeroDuration()) >> Says(0), data.OnRecv() >> Says(1)), 0);
    EXPECT_EQ(PriSelect(OnDeadline(past) >> Says(0), data.OnRecv() >> Says(1), Default >> Says(2)),
              0);
    EXPECT_EQ(PriSelect(OnDeadline(future) >> Says(0), OnDeadline(past) >> Says(1),
                        data.OnRecv() >> Says(2)),
              1);
    EXPECT_EQ(data.len(), 1u);
    EXPECT_EQ(PriSelect(data.OnRecv() >> Says(0), OnDeadline(past) >> Says(1)), 0);
    data.Send(0);
    EXPECT_EQ(PriSelect(OnDeadline(future) >> Says(0), OnTimeout(absl::Hours(1)) >> Says(1),
                        data.OnRecv() >> Says(2)),
              2);
    EXPECT_EQ(
        PriSelect(OnDeadline(future) >> Says(0), data.OnRecv() >> Says(1), Default >> Says(2)), 2);
  });
}

// Once it waits, the first to happen wins, wherever it stands.
TEST_P(PriSelectTest, ThatWaitsTakesWhatComes) {
  Here([] {
    auto first = MakeChan<int>(), second = MakeChan<int>();
    for (int i = 0; i < Rounds(500); ++i) {
      Task<void> sender = Go([&] { second.Send(i); });
      ASSERT_EQ(PriSelect(first.OnRecv() >> Says(0), second.OnRecv() >> Says(1)), 1);
      sender.Join();
    }
  });
}

}  // namespace
}  // namespace csp
