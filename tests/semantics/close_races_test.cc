// What happens to a send or a receive that meets a close half way?

#include <atomic>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using CloseRacesTest = RuntimeTest;
CSP_INSTANTIATE(CloseRacesTest);

// A send either is received or throws; a receive gets a value that was sent or learns of the end.
TEST_P(CloseRacesTest, EachOperationHappensOrDoesNot) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      auto ch = MakeChan<int>(static_cast<std::size_t>(round % 3));
      std::atomic<int> sent{0}, received{0};
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 3; ++i) {
        tasks.push_back(Go([&] {
          try {
            for (;;) {
              ch.Send(1);
              ++sent;
            }
          } catch (const ClosedChannel&) {
          }
        }));
        tasks.push_back(Go([&] {
          for (int v : ch) received += v;
        }));
      }
      for (int i = 0; i < round % 8; ++i) Yield();
      ch.Close();
      for (auto& task : tasks) task.Join();
      ASSERT_EQ(sent.load(), received.load());
    }
  });
}

// What was written before the close is seen by who is told of it.
TEST_P(CloseRacesTest, CloseIsASignal) {
  Here([] {
    for (int round = 0; round < Rounds(2'000); ++round) {
      auto done = MakeChan<Unit>();
      int written = 0;
      Task<void> closer = Go([&] {
        written = 42;
        done.Close();
      });
      EXPECT_FALSE(done.Recv().has_value());
      EXPECT_EQ(written, 42);
      closer.Join();
    }
  });
}

}  // namespace
}  // namespace csp
