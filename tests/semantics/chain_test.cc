// Can ten thousand fibers stand in a row, each waiting for its neighbour?

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using ChainTest = RuntimeTest;
CSP_INSTANTIATE(ChainTest);

TEST_P(ChainTest, DaisyChain) {
  Here([] {
    const int links = Fibers(10'000);
    const auto leftmost = MakeChan<int>();
    Chan<int> right = leftmost;
    for (int i = 0; i < links; ++i) {
      auto left = right;
      right = MakeChan<int>();
      Go([left, right] { left.Send(1 + *right.Recv()); });
    }
    Go([right] { right.Send(1); });
    EXPECT_EQ(leftmost.Recv(), links + 1);
  });
}

// And closing runs along a chain of that length.
TEST_P(ChainTest, CloseRunsAlong) {
  Here([] {
    const int links = Fibers(10'000);
    const auto first = MakeChan<Unit>();
    RecvChan<Unit> in = first;
    for (int i = 0; i < links; ++i) {
      auto out = MakeChan<Unit>();
      Go([in, out] {
        for ([[maybe_unused]] Unit v : in) {
        }
        out.Close();
      });
      in = out;
    }
    first.Close();
    EXPECT_FALSE(in.Recv().has_value());
  });
}

}  // namespace
}  // namespace csp
