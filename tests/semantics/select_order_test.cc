// When and how often are the operands of a select evaluated, and in which order with the handlers?

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using SelectOrderTest = RuntimeTest;
CSP_INSTANTIATE(SelectOrderTest);

// Each channel and each value once, also of cases that lose (C10), before any handler.
TEST_P(SelectOrderTest, EveryOperandOnceBeforeAnyHandler) {
  Here([] {
    auto a = MakeChan<int>(1), never = MakeChan<int>();
    std::vector<std::string> log;
    const auto channel = [&](const Chan<int>& ch, const char* name) -> const Chan<int>& {
      log.push_back(name);
      return ch;
    };
    const auto value = [&](const char* name) {
      log.push_back(name);
      return 1;
    };
    Select(
        channel(a, "a").OnSend(value("value of a")) >> [&] { log.push_back("handler"); },
        channel(never, "never").OnSend(value("value of never")) >> [&] { log.push_back("no"); },
        When(false, channel(a, "closed").OnSend(value("value of closed"))));
    ASSERT_EQ(log.size(), 7u);
    EXPECT_EQ(log.back(), "handler");
    for (const char* name :
         {"a", "value of a", "never", "value of never", "closed", "value of closed"}) {
      EXPECT_EQ(std::count(log.begin(), log.end(), name), 1) << name;
    }
  });
}

// A receive inside the operand of a send comes first, and waits.
TEST_P(SelectOrderTest, AReceiveInAnOperandIsOver) {
  Here([] {
    auto in = MakeChan<int>(), out = MakeChan<int>(1);
    Task<void> sender = Go([=] { in.Send(7); });
    Select(out.OnSend(*in.Recv() + 1), When(false, out.OnSend(0)));
    EXPECT_EQ(out.Recv(), 8);
    sender.Join();
  });
}

}  // namespace
}  // namespace csp
