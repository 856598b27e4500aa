// Is a select that is woken by one channel out of the queues of the others, also if it comes back
// to them at once?

#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelectRequeueTest = RuntimeTest;
CSP_INSTANTIATE(SelectRequeueTest);

// A receiver waits for `a` and `b`, is served by `b`, and waits again for `a` alone. Its old place
// in a's queue must be gone, or the value sent to `a` would go to a wait that is over.
TEST_P(SelectRequeueTest, OldPlacesAreGone) {
  Here([] {
    auto a = MakeChan<int>(), b = MakeChan<int>();
    for (int round = 0; round < Rounds(3'000); ++round) {
      Task<int> receiver = Go([=] {
        int got = 0;
        Select(
            a.OnRecv() >> [&](std::optional<int> v) { got = *v; },
            b.OnRecv() >> [&](std::optional<int> v) { got = *v + *a.Recv(); });
        return got;
      });
      if (round % 2 == 0) Yield();
      b.Send(10);
      a.Send(1);
      ASSERT_EQ(receiver.Join(), 11);
    }
  });
}

// Several waiters in the queue, the first of which leaves it for another reason: the next is
// served.
TEST_P(SelectRequeueTest, WhoLeavesDoesNotBlockTheQueue) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto shared = MakeChan<int>(), own = MakeChan<int>();
      const auto take = [=] {
        return Select(
            shared.OnRecv() >> [](std::optional<int> v) { return *v; },
            own.OnRecv() >> [](std::optional<int> v) { return *v; });
      };
      Task<int> first = Go(take), second = Go(take), third = Go(take);
      if (round % 2 == 0) Yield();
      own.Send(1);
      shared.Send(10);
      own.Send(100);
      ASSERT_EQ(first.Join() + second.Join() + third.Join(), 111);
    }
  });
}

// The same select over and over: its own dead places do not pile up, nor serve it twice.
TEST_P(SelectRequeueTest, OverAndOver) {
  Here([] {
    auto busy = MakeChan<int>(), idle = MakeChan<int>();
    const int count = Rounds(20'000);
    Task<void> sender = Go([=] {
      for (int i = 0; i < count; ++i) busy.Send(i);
      idle.Send(-1);
    });
    int expected = 0;
    for (bool go_on = true; go_on;) {
      Select(
          idle.OnRecv() >> [&](std::optional<int>) { go_on = false; },
          busy.OnRecv() >> [&](std::optional<int> v) { EXPECT_EQ(v, expected++); },
          idle.OnRecv() >> [&](std::optional<int>) { go_on = false; });
    }
    EXPECT_EQ(expected, count);
    sender.Join();
  });
}

}  // namespace
}  // namespace csp
