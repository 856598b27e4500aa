// H3: a pinned task stays on one thread for life.
#include <atomic>
#include <thread>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using PinnedTest = RuntimeTest;
CSP_INSTANTIATE(PinnedTest);

[[gnu::noinline]] std::thread::id ThisThread() { return std::this_thread::get_id(); }

TEST_P(PinnedTest, NeverMovesInManyYields) {
  Here([] {
    std::atomic<bool> over{false};
    std::vector<Task<void>> others;
    for (int i = 0; i < 4; ++i) {
      others.push_back(Go([&] {
        while (!over) Yield();
      }));
    }
    Go({.pinned = true}, [] {
      const std::thread::id home = ThisThread();
      for (int i = 0; i < Rounds(100'000); ++i) {
        Yield();
        ASSERT_EQ(ThisThread(), home);
      }
    }).Join();
    over = true;
    for (Task<void>& task : others) task.Join();
  });
}

TEST_P(PinnedTest, IsWokenFromAnywhereAndGoesOnAtHome) {
  Here([] {
    const Chan<int> ch = MakeChan<int>();
    Event event;
    std::vector<Task<void>> pinned;
    for (int k = 0; k < 4; ++k) {
      pinned.push_back(Go({.pinned = true}, [&] {
        const std::thread::id home = ThisThread();
        for ([[maybe_unused]] int _ : ch) {
          ASSERT_EQ(ThisThread(), home);
          SleepFor(absl::Microseconds(5));
          ASSERT_EQ(ThisThread(), home);
          Blocking([] {});
          ASSERT_EQ(ThisThread(), home);
          Go([] {}).Join();
          ASSERT_EQ(ThisThread(), home);
        }
        Select(event.OnWait(), OnTimeout(absl::Hours(1)));
        ASSERT_EQ(ThisThread(), home);
      }));
    }
    Task<void> thread = BlockingDetached([ch] {
      for (int i = 0; i < Rounds(500); ++i) ch.Send(int{i});
    });
    for (int i = 0; i < Rounds(500); ++i) ch.Send(int{i});
    thread.Join();
    ch.Close();
    event.Set();
    for (Task<void>& task : pinned) task.Join();
  });
}

TEST_P(PinnedTest, IsCancelledLikeAnyOther) {
  Here([] {
    for (int i = 0; i < Rounds(500); ++i) {
      Task<void> task = Go({.pinned = true}, [] { Event().Wait(); });
      for (int k = 0; k < i % 4; ++k) Yield();
      task.Cancel();
      ASSERT_THROW(task.Join(), TaskCancelled);
    }
  });
}

// From a fiber: to the worker that it is on.
TEST_P(PinnedTest, AChildOfAPinnedTaskMayBePinnedBesideIt) {
  Here([] {
    Go({.pinned = true}, [] {
      const std::thread::id home = ThisThread();
      for (int i = 0; i < 20; ++i) {
        Go({.pinned = true}, [home] { EXPECT_EQ(ThisThread(), home); }).Join();
      }
    }).Join();
  });
}

TEST_P(PinnedTest, ThousandsAreServed) {
  Here([] {
    std::atomic<int> ran{0};
    std::vector<Task<void>> tasks;
    const int count = Fibers(2000);
    for (int i = 0; i < count; ++i) {
      tasks.push_back(Go({.pinned = true}, [&] {
        Yield();
        ++ran;
      }));
    }
    for (Task<void>& task : tasks) task.Join();
    EXPECT_EQ(ran, count);
  });
}

}  // namespace
}  // namespace csp
