// Is each of the cases that are always ready served, however busy the others are?

#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelectFairnessTest = RuntimeTest;
CSP_INSTANTIATE(SelectFairnessTest);

TEST_P(SelectFairnessTest, TwoProducersAreServedAboutAlike) {
  Here([] {
    const int trials = Rounds(10'000);
    for (std::size_t capacity : {1, 16}) {
      auto a = MakeChan<int>(capacity), b = MakeChan<int>(capacity);
      auto out_a = MakeChan<int>(), out_b = MakeChan<int>();
      Event over;
      const auto produce = [&](Chan<int> ch) {
        for (bool go_on = true; go_on;) {
          Select(
              ch.OnSend(0), over.OnWait() >> [&] { go_on = false; });
        }
      };
      Task<void> producers[] = {Go(produce, a), Go(produce, b)};
      int from_a = 0, from_b = 0;
      for (int i = 0; i < trials; ++i) {
        // Both are ready; what is measured is the choice.
        while (a.len() == 0 || b.len() == 0) Yield();
        Select(
            a.OnRecv() >> [&](std::optional<int>) { ++from_a; },
            b.OnRecv() >> [&](std::optional<int>) { ++from_b; });
      }
      over.Set();
      for (auto& producer : producers) producer.Join();
      // Of `trials` fair choices fewer than a fifth fall on one side with a probability below
      // 10^-40, for 500 and more.
      EXPECT_GT(from_a, trials / 5);
      EXPECT_GT(from_b, trials / 5);
    }
  });
}

}  // namespace
}  // namespace csp
