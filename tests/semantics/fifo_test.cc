// Are channels first in, first out, buffered and unbuffered, through a chain of fibers too?

#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using FifoTest = RuntimeTest;
CSP_INSTANTIATE(FifoTest);

TEST_P(FifoTest, BufferedInOneFiber) {
  Here([] {
    auto ch = MakeChan<int>(10);
    for (int i = 0; i < 10; ++i) ch.Send(i);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ch.Recv(), i);
  });
}

// Each link takes its turn only when the one before it has had its own.
TEST_P(FifoTest, UnbufferedInAChain) {
  Here([] {
    auto ch = MakeChan<int>();
    auto turn = MakeChan<bool>();
    turn.Close();
    RecvChan<bool> in = turn;
    for (int i = 0; i < 10; ++i) {
      auto out = MakeChan<bool>();
      Go([=] {
        (void)in.Recv();
        EXPECT_EQ(ch.Recv(), i);
        out.Send(true);
      });
      Go([=] { ch.Send(i); }).Join();
      (void)out.Recv();
    }
  });
}

}  // namespace
}  // namespace csp
