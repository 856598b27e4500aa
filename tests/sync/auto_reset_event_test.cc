// The event that lets one pass for each Set.

#include "csp/sync/auto_reset_event.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using AutoResetEventTest = RuntimeTest;
CSP_INSTANTIATE(AutoResetEventTest);

constexpr auto kIgnore = [](const auto&...) {};

TEST_P(AutoResetEventTest, ASetIsKeptForOne) {
  Here([] {
    AutoResetEvent event;
    EXPECT_FALSE(event.TryWait());
    EXPECT_FALSE(event.WaitFor(absl::ZeroDuration()));
    EXPECT_FALSE(event.WaitFor(absl::Microseconds(50)));
    event.Set();
    event.Set();
    EXPECT_TRUE(event.WaitUntil(absl::InfinitePast()));
    EXPECT_FALSE(event.TryWait());
    event.Set();
    event.Reset();
    EXPECT_FALSE(event.TryWait());
    event.Set();
    Select(event.OnWait());
    bool none = false;
    Select(
        event.OnWait() >> [] { ADD_FAILURE(); }, Default >> [&] { none = true; });
    EXPECT_TRUE(none);
    AutoResetEvent set(true);
    set.Wait();
    EXPECT_FALSE(set.TryWait());
  });
}

// As many sets, one at a time, as waits: each lets exactly one pass.
TEST_P(AutoResetEventTest, EachSetLetsOnePass) {
  Here([] {
    AutoResetEvent event;
    std::atomic<int> passed{0};
    constexpr int kTasks = 6;
    const int rounds = Rounds(200);
    std::vector<Task<void>> tasks;
    for (int t = 0; t < kTasks; ++t) {
      tasks.push_back(Go([&, t] {
        for (int i = 0; i < rounds; ++i) {
          if ((i + t) % 3 == 0) {
            event.Wait();
          } else if ((i + t) % 3 == 1) {
            ASSERT_TRUE(event.WaitFor(absl::Hours(1)));
          } else {
            Select(
                event.OnWait(), OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
          }
          ++passed;
        }
      }));
    }
    for (int i = 0; i < kTasks * rounds; ++i) {
      event.Set();
      while (passed.load() != i + 1) Yield();
    }
    for (auto& task : tasks) task.Join();
    EXPECT_FALSE(event.TryWait());
  });
}

// Waits that are cancelled or late do not use up a Set.
TEST_P(AutoResetEventTest, NoSetIsLostToOneWhoGivesUp) {
  Here([] {
    for (int round = 0; round < Rounds(500); ++round) {
      AutoResetEvent event;
      bool got = false;
      Task<void> task = Go([&] {
        if (round % 2 == 0) {
          event.Wait();
          got = true;
        } else {
          got = event.WaitFor(absl::Microseconds(round % 40));
        }
      });
      for (int i = 0; i < round % 5; ++i) Yield();
      Task<void> setter = Go([&] { event.Set(); });
      if (round % 2 == 0) task.Cancel();
      setter.Join();
      try {
        task.Join();
      } catch (const TaskCancelled&) {
      }
      EXPECT_NE(got, event.TryWait());
    }
  });
}

TEST_P(AutoResetEventTest, ALostSelectLeavesNothing) {
  Here([] {
    AutoResetEvent event;
    auto quit = MakeChan<int>();
    for (int round = 0; round < Rounds(200); ++round) {
      Task<void> loser = Go([&] {
        Select(
            event.OnWait() >> [] { ADD_FAILURE(); }, quit.OnRecv() >> kIgnore);
      });
      quit.Send(1);
      loser.Join();
      event.Set();
      EXPECT_TRUE(event.TryWait());
    }
  });
}

TEST_P(AutoResetEventTest, MayBeDestroyedByWhomItWoke) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto event = std::make_unique<AutoResetEvent>();
      Task<void> setter = Go([raw = event.get()] { raw->Set(); });
      if (round % 2 == 0) {
        event->Wait();
      } else {
        while (!event->TryWait()) Yield();
      }
      event.reset();
      setter.Join();
    }
  });
}

TEST_P(AutoResetEventTest, BetweenThreads) {
  Here([] {
    AutoResetEvent ping, pong;
    const int rounds = Rounds(300);
    std::thread thread([&] {
      for (int i = 0; i < rounds; ++i) {
        ping.Wait();
        pong.Set();
      }
    });
    for (int i = 0; i < rounds; ++i) {
      ping.Set();
      pong.Wait();
    }
    thread.join();
  });
}

}  // namespace
}  // namespace csp
