// The wait group: a wait ends when the count has come to zero, and not before.

#include "csp/sync/wait_group.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using WaitGroupTest = RuntimeTest;
CSP_INSTANTIATE(WaitGroupTest);

constexpr auto kIgnore = [](const auto&...) {};

TEST_P(WaitGroupTest, WaitsForAll) {
  Here([] {
    WaitGroup all;
    for (int round = 0; round < Rounds(200); ++round) {
      std::atomic<int> done{0};
      for (int i = 0; i < 10; ++i) {
        all.Add(1);
        Go([&] {
          ++done;
          all.Done();
        }).Detach();
      }
      switch (round % 4) {
        case 0:
          all.Wait();
          break;
        case 1:
          ASSERT_TRUE(all.WaitFor(absl::Hours(1)));
          break;
        case 2:
          Select(
              all.OnWait(), OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
          break;
        default:
          while (!all.TryWait()) Yield();
      }
      ASSERT_EQ(done.load(), 10);
    }
  });
}

TEST_P(WaitGroupTest, AtZeroNobodyWaits) {
  Here([] {
    WaitGroup all;
    all.Wait();
    Select(all.OnWait());
    EXPECT_TRUE(all.TryWait());
    EXPECT_TRUE(all.WaitFor(absl::ZeroDuration()));
    EXPECT_TRUE(all.WaitUntil(absl::InfinitePast()));
    all.Add(2);
    EXPECT_FALSE(all.TryWait());
    EXPECT_FALSE(all.WaitFor(absl::ZeroDuration()));
    EXPECT_FALSE(all.WaitFor(absl::Microseconds(50)));
    bool none = false;
    Select(
        all.OnWait() >> [] { ADD_FAILURE(); }, Default >> [&] { none = true; });
    EXPECT_TRUE(none);
    all.Add(-2);
    all.Wait();
  });
}

// Who waits as the count comes to zero goes on, whatever is added right afterwards.
TEST_P(WaitGroupTest, AWaitIsOverAtZeroThoughMoreIsAdded) {
  Here([] {
    for (int round = 0; round < Rounds(300); ++round) {
      WaitGroup group(1);
      std::atomic<int> waiting{0};
      std::vector<Task<void>> waiters;
      for (int i = 0; i < 4; ++i) {
        waiters.push_back(Go([&] {
          ++waiting;
          group.Wait();
        }));
      }
      while (waiting.load() < 4) Yield();
      for (int i = 0; i < 20; ++i) Yield();  // most of them wait by now
      group.Done();
      group.Add(1);
      group.Done();  // for those that came too late
      for (auto& waiter : waiters) waiter.Join();
    }
  });
}

TEST_P(WaitGroupTest, MayBeDestroyedByWhomItWoke) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto group = std::make_unique<WaitGroup>(2);
      Task<void> a = Go([raw = group.get()] { raw->Done(); });
      Task<void> b = Go([raw = group.get()] { raw->Done(); });
      if (round % 3 == 0) {
        group->Wait();
      } else if (round % 3 == 1) {
        Select(group->OnWait());
      } else {
        while (!group->TryWait()) Yield();
      }
      group.reset();
      a.Join();
      b.Join();
    }
  });
}

TEST_P(WaitGroupTest, CancelledAndLateWaitsLeaveNothing) {
  Here([] {
    WaitGroup group(1);
    auto quit = MakeChan<int>();
    for (int round = 0; round < Rounds(100); ++round) {
      Task<void> cancelled = Go([&] { group.Wait(); });
      Task<void> late = Go([&] { EXPECT_FALSE(group.WaitFor(absl::Microseconds(20))); });
      Task<void> loser = Go([&] {
        Select(
            group.OnWait() >> [] { ADD_FAILURE(); }, quit.OnRecv() >> kIgnore);
      });
      quit.Send(1);
      cancelled.Cancel();
      EXPECT_THROW(cancelled.Join(), TaskCancelled);
      late.Join();
      loser.Join();
    }
    group.Done();
    group.Wait();
  });
}

TEST_P(WaitGroupTest, FromThreads) {
  Here([] {
    WaitGroup all(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { all.Done(); });
    std::thread waiter([&] { all.Wait(); });
    all.Wait();
    for (auto& thread : threads) thread.join();
    waiter.join();
  });
}

TEST_P(WaitGroupTest, Misuse) {
  Here([] {
    EXPECT_THROW(WaitGroup(-1), InvalidArgument);
    WaitGroup group;
    try {
      group.Done();
      ADD_FAILURE();
    } catch (const SyncError& e) {
      EXPECT_NE(std::string(e.what()).find("WaitGroup::Done"), std::string::npos) << e.what();
    }
    group.Add(2);
    EXPECT_THROW(group.Add(-3), Panic);
    EXPECT_THROW(group.Add(std::numeric_limits<std::int64_t>::max()), SyncError);
    group.Add(-2);  // it is as before
    EXPECT_TRUE(group.TryWait());
  });
}

}  // namespace
}  // namespace csp
