// Once, whoever comes first; and again only if it has failed.

#include "csp/sync/once.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using OnceTest = RuntimeTest;
CSP_INSTANTIATE(OnceTest);

TEST_P(OnceTest, OneDoesItTheOthersWait) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      Once once;
      int done = 0;
      const auto call = [&] {
        once.Call([&] {
          for (int i = 0; i < 3; ++i) internal::Parker::Current()->Yield(true);
          ++done;
        });
        EXPECT_EQ(done, 1);
      };
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 8; ++i) tasks.push_back(Go(call));
      if (round % 10 == 0) std::thread(call).join();
      call();
      for (auto& task : tasks) task.Join();
      EXPECT_TRUE(once.done());
      once.Call([] { ADD_FAILURE(); });
    }
  });
}

TEST_P(OnceTest, AThrowLetsTheNextOneTry) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      Once once;
      std::atomic<int> calls{0}, threw{0};
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 8; ++i) {
        tasks.push_back(Go([&] {
          try {
            once.Call([&] {
              Yield();
              if (++calls < 4) throw std::runtime_error("not yet");
            });
          } catch (const std::runtime_error&) {
            ++threw;
          }
        }));
      }
      for (auto& task : tasks) task.Join();
      EXPECT_EQ(calls.load(), 4);
      EXPECT_EQ(threw.load(), 3);
      EXPECT_TRUE(once.done());
    }
  });
}

TEST_P(OnceTest, WaitingIsNoCancellationPoint) {
  Here([] {
    Once once;
    std::atomic<bool> go{false}, at_it{false}, waiting{false};
    Task<void> runner = Go([&] {
      once.Call([&] {
        at_it = true;
        while (!go.load()) Yield();
      });
    });
    while (!at_it.load()) Yield();
    Task<bool> waiter = Go([&] {
      waiting = true;
      once.Call([] { ADD_FAILURE(); });
      return once.done();
    });
    while (!waiting.load()) Yield();
    for (int i = 0; i < 20; ++i) Yield();
    waiter.Cancel();
    go = true;
    EXPECT_TRUE(waiter.Join());
    runner.Join();
  });
}

// The function's own waits are cancelled as ever; then it has not been done.
TEST_P(OnceTest, ACancelledRunnerHasNotDoneIt) {
  Here([] {
    Once once;
    auto never = MakeChan<int>();
    std::atomic<bool> at_it{false};
    Task<void> runner = Go([&] {
      once.Call([&] {
        at_it = true;
        (void)never.Recv();
      });
    });
    while (!at_it.load()) Yield();
    int done = 0;
    Task<void> next = Go([&] { once.Call([&] { ++done; }); });
    for (int i = 0; i < 20; ++i) Yield();
    runner.Cancel();
    next.Join();
    EXPECT_THROW(runner.Join(), TaskCancelled);
    EXPECT_EQ(done, 1);
  });
}

TEST_P(OnceTest, ACallInTheCallIsAnError) {
  Here([] {
    Once once;
    try {
      once.Call([&] { once.Call([] { ADD_FAILURE(); }); });
      ADD_FAILURE();
    } catch (const SyncError& e) {
      EXPECT_NE(std::string(e.what()).find("Once::Call"), std::string::npos) << e.what();
    }
    EXPECT_FALSE(once.done());
    once.Call([] {});
    EXPECT_TRUE(once.done());
  });
}

TEST_P(OnceTest, MayBeDestroyedByWhoeverReturns) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto once = std::make_unique<Once>();
      Once* raw = once.get();
      std::atomic<bool> begun{false};
      Task<void> runner = Go([&begun, raw] {
        raw->Call([&] {
          begun = true;
          for (int i = 0; i < 2; ++i) Yield();
        });
      });
      while (!begun.load()) Yield();
      if (round % 2 == 0) {
        raw->Call([] { ADD_FAILURE(); });
      } else {
        while (!raw->done()) Yield();
      }
      once.reset();
      runner.Join();
    }
  });
}

TEST_P(OnceTest, AValueIsMadeOnFirstUse) {
  Here([] {
    int made = 0;
    const OnceValue value([&] {
      ++made;
      return std::string("made");
    });
    EXPECT_FALSE(value.made());
    EXPECT_EQ(made, 0);
    std::vector<Task<const std::string*>> tasks;
    for (int i = 0; i < 8; ++i) tasks.push_back(Go([&] { return &value.Get(); }));
    for (auto& task : tasks) EXPECT_EQ(task.Join(), &value.Get());
    EXPECT_EQ(*value, "made");
    EXPECT_EQ(value->size(), 4u);
    EXPECT_TRUE(value.made());
    EXPECT_EQ(made, 1);
  });
}

TEST_P(OnceTest, AValueThatCannotBeMadeIsTriedAgain) {
  Here([] {
    int tries = 0;
    const OnceValue value([&] {
      if (++tries == 1) throw std::runtime_error("no");
      return tries;
    });
    EXPECT_THROW((void)value.Get(), std::runtime_error);
    EXPECT_FALSE(value.made());
    EXPECT_EQ(value.Get(), 2);
    EXPECT_EQ(value.Get(), 2);
  });
}

}  // namespace
}  // namespace csp
