// What a select knows of an object without its lock: ready bits, and whether they have moved.

#include "csp/select/summary.h"

#include "gtest/gtest.h"

namespace csp {
namespace {

std::uint64_t Bits(const Summary& summary) { return summary.Read() & Summary::kReadyBits; }

TEST(SummaryTest, ShowsItsBits) {
  Summary summary(2);
  EXPECT_EQ(Bits(summary), 2u);
  for (std::uint64_t bits : {0u, 1u, 3u, 255u, 0u}) {
    summary.Set(bits);
    EXPECT_EQ(Bits(summary), bits);
  }
}

TEST(SummaryTest, MovesWithEveryChange) {
  Summary summary;
  std::uint64_t before = summary.Read();
  for (int i = 0; i < 1000; ++i) {
    summary.Set(static_cast<std::uint64_t>(i % 2 + 1));
    ASSERT_NE(summary.Read(), before);
    before = summary.Read();
  }
}

// There and back again is a change, too: something was ready in between.
TEST(SummaryTest, DoesNotComeBack) {
  Summary summary;
  const std::uint64_t before = summary.Read();
  summary.Set(1);
  summary.Set(0);
  EXPECT_EQ(Bits(summary), 0u);
  EXPECT_NE(summary.Read(), before);
}

TEST(SummaryTest, StaysWhereNothingChanges) {
  Summary summary(1);
  const std::uint64_t before = summary.Read();
  summary.Set(1);
  EXPECT_EQ(summary.Read(), before);
}

}  // namespace
}  // namespace csp
