// Can two selects that wait for the same channels both take the same value?

#include <optional>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using DoubleSelectTest = RuntimeTest;
CSP_INSTANTIATE(DoubleSelectTest);

// One sender selects among four channels; four receivers merge what they get into one. Every value
// arrives exactly once, in no particular order.
TEST_P(DoubleSelectTest, EachValueOnce) {
  Here([] {
    const int count = Rounds(20'000);
    std::vector<Chan<int>> ways;
    for (int i = 0; i < 4; ++i) ways.push_back(MakeChan<int>());
    auto merged = MakeChan<int>();
    Go([=] {
      for (int i = 0; i < count; ++i) {
        Select(ways[0].OnSend(i), ways[1].OnSend(i), ways[2].OnSend(i), ways[3].OnSend(i));
      }
      for (const auto& way : ways) way.Close();
    });
    std::vector<Task<void>> relays;
    for (const auto& way : ways) {
      relays.push_back(Go([=] {
        for (int v : way) merged.Send(v);
      }));
    }
    Go([merged, relays = std::move(relays)]() mutable {
      for (auto& relay : relays) relay.Join();
      merged.Close();
    });
    std::vector<bool> seen(static_cast<std::size_t>(count));
    int received = 0;
    for (int v : merged) {
      ASSERT_FALSE(seen[static_cast<std::size_t>(v)]) << v << " twice";
      seen[static_cast<std::size_t>(v)] = true;
      ++received;
    }
    EXPECT_EQ(received, count);
  });
}

}  // namespace
}  // namespace csp
