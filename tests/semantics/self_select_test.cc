// Fibers that select to send and to receive on the same channel: do they serve each other, and
// never themselves?

#include <optional>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelfSelectTest = RuntimeTest;
CSP_INSTANTIATE(SelfSelectTest);

TEST_P(SelfSelectTest, TwoOnOneChannel) {
  Here([] {
    for (std::size_t capacity : {0, 10}) {
      auto ch = MakeChan<int>(capacity);
      const int count = Rounds(5'000);
      std::vector<Task<void>> tasks;
      for (int me : {0, 1}) {
        tasks.push_back(Go([=] {
          const auto check = [&](std::optional<int> v) {
            // Unbuffered: what arrives is the other's.
            if (capacity == 0 && v.has_value()) {
              EXPECT_EQ(*v, 1 - me);
            }
          };
          // Each does its share; at the end whoever is left over finds the channel closed.
          try {
            for (int i = 0; i < count; ++i) {
              if (me == 0 || i % 2 == 0) {
                Select(ch.OnSend(me), ch.OnRecv() >> check);
              } else {
                Select(ch.OnRecv() >> check, ch.OnSend(me));
              }
            }
            ch.Close();
          } catch (const ClosedChannel&) {
          }
        }));
      }
      for (auto& task : tasks) task.Join();
    }
  });
}

}  // namespace
}  // namespace csp
