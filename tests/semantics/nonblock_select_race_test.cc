// A value is added to one channel before another is emptied: may a select on both, with a Default,
// find nothing?

#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using NonblockSelectRaceTest = RuntimeTest;
CSP_INSTANTIATE(NonblockSelectRaceTest);

constexpr auto kYes = [](std::optional<int>) { return true; };

TEST_P(NonblockSelectRaceTest, OneOfTwoIsAlwaysReady) {
  Here([] {
    for (int i = 0; i < Rounds(20'000); ++i) {
      auto first = MakeChan<int>(1), second = MakeChan<int>(1);
      first.Send(1);
      Task<bool> looker = Go([&] {
        return Select(
            first.OnRecv() >> kYes, second.OnRecv() >> kYes, Default >> [] { return false; });
      });
      second.Send(1);
      std::optional<int> v;
      (void)first.TryRecv(v);
      ASSERT_TRUE(looker.Join());
    }
  });
}

// The same where the other side closes a channel instead of sending.
TEST_P(NonblockSelectRaceTest, OneOfTwoIsClosed) {
  Here([] {
    for (int i = 0; i < Rounds(20'000); ++i) {
      auto first = MakeChan<int>(1), second = MakeChan<int>();
      first.Send(1);
      Task<bool> looker = Go([&] {
        return Select(
            first.OnRecv() >> kYes, second.OnRecv() >> kYes, Default >> [] { return false; });
      });
      second.Close();
      std::optional<int> v;
      (void)first.TryRecv(v);
      ASSERT_TRUE(looker.Join());
    }
  });
}

}  // namespace
}  // namespace csp
