// The latch: closed until it has been counted down, open for ever after.

#include "csp/sync/latch.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using LatchTest = RuntimeTest;
CSP_INSTANTIATE(LatchTest);

TEST_P(LatchTest, OpensAtZeroForGood) {
  Here([] {
    Latch latch(3);
    EXPECT_FALSE(latch.TryWait());
    EXPECT_FALSE(latch.WaitFor(absl::ZeroDuration()));
    EXPECT_FALSE(latch.WaitUntil(absl::InfinitePast()));
    latch.CountDown();
    latch.CountDown(0);
    EXPECT_FALSE(latch.WaitFor(absl::Microseconds(50)));
    latch.CountDown(2);
    EXPECT_TRUE(latch.TryWait());
    latch.Wait();
    Select(latch.OnWait());
    EXPECT_TRUE(latch.WaitFor(absl::ZeroDuration()));
    Latch open(0);
    open.Wait();
  });
}

TEST_P(LatchTest, AllArriveBeforeAnyGoesOn) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      constexpr int kTasks = 8;
      Latch latch(kTasks);
      std::atomic<int> arrived{0};
      std::vector<Task<void>> tasks;
      for (int i = 0; i < kTasks; ++i) {
        tasks.push_back(Go([&, i] {
          ++arrived;
          if (i % 2 == 0) {
            latch.ArriveAndWait();
          } else {
            latch.CountDown();
            Select(latch.OnWait());
          }
          EXPECT_EQ(arrived.load(), kTasks);
        }));
      }
      for (auto& task : tasks) task.Join();
    }
  });
}

TEST_P(LatchTest, MayBeDestroyedByWhomItWoke) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto latch = std::make_unique<Latch>(1);
      Task<void> task = Go([raw = latch.get()] { raw->CountDown(); });
      if (round % 2 == 0) {
        latch->Wait();
      } else {
        while (!latch->TryWait()) Yield();
      }
      latch.reset();
      task.Join();
    }
  });
}

TEST_P(LatchTest, ACancelledArrivalHasNotCounted) {
  Here([] {
    Latch latch(1);
    Task<void> task = Go([&] {
      EXPECT_THROW(latch.Wait(), Cancelled);
      EXPECT_THROW(latch.ArriveAndWait(), Cancelled);
      EXPECT_FALSE(latch.TryWait());
    });
    for (int i = 0; i < 10; ++i) Yield();
    task.Cancel();
    try {
      task.Join();
    } catch (const TaskCancelled&) {  // before it had begun
    }
    EXPECT_FALSE(latch.TryWait());
    latch.CountDown();
  });
}

TEST_P(LatchTest, Misuse) {
  Here([] {
    EXPECT_THROW(Latch(-1), InvalidArgument);
    Latch latch(2);
    EXPECT_THROW(latch.CountDown(-1), SyncError);
    EXPECT_THROW(latch.CountDown(std::numeric_limits<std::int64_t>::min()), SyncError);
    try {
      latch.CountDown(3);
      ADD_FAILURE();
    } catch (const Panic& e) {
      EXPECT_NE(std::string(e.what()).find("Latch::CountDown"), std::string::npos) << e.what();
    }
    latch.CountDown(2);
    EXPECT_THROW(latch.CountDown(), SyncError);
  });
}

}  // namespace
}  // namespace csp
