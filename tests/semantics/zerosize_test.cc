// Do channels of nothing count: values of an empty type, signals and semaphores made of them?

#include <atomic>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using ZeroSizeTest = RuntimeTest;
CSP_INSTANTIATE(ZeroSizeTest);

TEST_P(ZeroSizeTest, Counts) {
  Here([] {
    for (std::size_t capacity : {0, 1, 7}) {
      auto ch = MakeChan<Unit>(capacity);
      const int count = Rounds(5'000);
      Task<void> sender = Go([=] {
        for (int i = 0; i < count; ++i) ch.Send({});
        ch.Close();
      });
      int received = 0;
      for ([[maybe_unused]] Unit v : ch) ++received;
      EXPECT_EQ(received, count);
      sender.Join();
    }
  });
}

// A buffered channel as a counting semaphore.
TEST_P(ZeroSizeTest, IsASemaphore) {
  Here([] {
    constexpr int kLimit = 3;
    auto places = MakeChan<Unit>(kLimit);
    std::atomic<int> inside{0}, most{0};
    std::vector<Task<void>> tasks;
    for (int i = 0; i < 20; ++i) {
      tasks.push_back(Go([&] {
        for (int k = 0; k < Rounds(50); ++k) {
          places.Send({});
          const int now = ++inside;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          Yield();
          --inside;
          (void)places.Recv();
        }
      }));
    }
    for (auto& task : tasks) task.Join();
    EXPECT_LE(most.load(), kLimit);
    EXPECT_GE(most.load(), 1);
  });
}

}  // namespace
}  // namespace csp
