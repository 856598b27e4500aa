// Nobody waits for ever: whoever is ready runs after a bounded number of others' turns.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "csp/base/clock.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/after_func.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using FairnessTest = RuntimeTest;
CSP_INSTANTIATE(FairnessTest);

struct Chain {
  std::atomic<bool> over{false};
  std::atomic<int> links{0};
};

void NextLink(std::shared_ptr<Chain> chain) {
  ++chain->links;
  if (!chain->over) Go(NextLink, chain);
}

// A2: a chain of tasks, of which each starts the next and ends, against a fiber that is ready.
TEST_P(FairnessTest, FreshTasksDoNotStarveAReadyFiber) {
  Here([] {
    auto chain = std::make_shared<Chain>();
    Go(NextLink, chain);
    for (int i = 0; i < 1000; ++i) Yield();
    chain->over = true;
  });
}

TEST_P(FairnessTest, FreshTasksDoNotStarveAnOlderTask) {
  Here([] {
    Event ran;
    auto chain = std::make_shared<Chain>();
    Go([&] { ran.Set(); });
    Go(NextLink, chain);
    ran.Wait();
    chain->over = true;
  });
}

// A4
TEST(FairnessTest, YieldIsRoundRobin) {
  const Watchdog watchdog;
  csp::Run(
      [] {
        constexpr int kFibers = 10;
        constexpr int kRounds = 1000;
        std::vector<int> counts(kFibers);
        int most_apart = 0;
        std::vector<Task<void>> tasks;
        Event begin;
        int started = 0;
        for (int i = 0; i < kFibers; ++i) {
          tasks.push_back(Go([&, i] {
            ++started;
            begin.Wait();
            for (int k = 0; k < kRounds; ++k) {
              ++counts[i];
              const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
              // Those at the end have stopped counting.
              if (*most < kRounds) most_apart = std::max(most_apart, *most - *least);
              Yield();
            }
          }));
        }
        while (started < kFibers) Yield();
        begin.Set();
        for (Task<void>& task : tasks) task.Join();
        EXPECT_LE(most_apart, 8);
      },
      {.workers = 1});
}

// A7
TEST_P(FairnessTest, ManyChildrenWithoutASingleYield) {
  Here([] {
    std::atomic<int> ran{0};
    const int children = Rounds(100'000);
    for (int i = 0; i < children; ++i) Go([&] { ++ran; });
    EXPECT_TRUE(EventuallyTrue([&] { return ran == children; }));
  });
}

TEST_P(FairnessTest, ManyFibersBehindOneGate) {
  Here([] {
    Event gate;
    std::atomic<int> waiting{0};
    std::atomic<int> through{0};
    const int fibers = Fibers(10'000);
    for (int i = 0; i < fibers; ++i) {
      Go([&] {
        ++waiting;
        gate.Wait();
        ++through;
      });
    }
    EXPECT_TRUE(EventuallyTrue([&] { return waiting == fibers; }));
    gate.Set();
    EXPECT_TRUE(EventuallyTrue([&] { return through == fibers; }));
  });
}

// E11: with everybody busy, but giving way, a timer comes in its time. Counted in turns: once it is
// due, the others have fewer than two each, on average, before the sleeper has its own.
TEST_P(FairnessTest, TimersAreSeenUnderLoad) {
  Here([this] {
    const int fibers = kTsan ? 500 : Fibers(10'000);
    std::atomic<int> started{0};
    std::atomic<std::int64_t> due{internal::kForever};
    std::atomic<std::int64_t> late_turns{0};
    std::atomic<bool> over{false};
    std::vector<Task<void>> busy;
    for (int i = 0; i < fibers; ++i) {
      busy.push_back(Go([&] {
        ++started;
        while (!over) {
          if (internal::NowNanos() >= due) ++late_turns;
          Yield();
        }
      }));
    }
    EXPECT_TRUE(EventuallyTrue([&] { return started == fibers; }));
    due = internal::NowNanos() + 10'000'000;
    SleepUntil(internal::ToTime(due));
    const std::int64_t turns = late_turns;
    over = true;
    for (Task<void>& task : busy) task.Join();
    // With several workers the kernel may keep the timer's off the processor for any time.
    if (workers() == 1) {
      EXPECT_LE(turns, 2 * fibers);
    }
  });
}

// A13: two fibers that hand values to each other run through the LIFO slot.
TEST_P(FairnessTest, ThePingPongOfTwoDoesNotStarveAThird) {
  Here([] {
    Chan<int> ping = MakeChan<int>();
    Chan<int> pong = MakeChan<int>();
    Go([=] {
      for (int i : ping) pong.Send(i);
      pong.Close();
    });
    Go([=] {
      try {
        ping.Send(0);
        for (int i : pong) ping.Send(i + 1);
      } catch (const ClosedChannel&) {
      }
    });
    for (int i = 0; i < 200; ++i) Yield();
    ping.Close();
  });
}

// The same while a foreign thread keeps the global queue from ever being empty.
TEST_P(FairnessTest, NeitherDoesItWithAFullGlobalQueue) {
  Here([] {
    std::atomic<bool> over{false};
    std::atomic<int> turns{0};
    Chan<int> ping = MakeChan<int>();
    Chan<int> pong = MakeChan<int>();
    Go([=] {
      for (int i : ping) pong.Send(i);
      pong.Close();
    });
    Go([=] {
      try {
        ping.Send(0);
        for (int i : pong) ping.Send(i + 1);
      } catch (const ClosedChannel&) {
      }
    });
    std::vector<Chan<int>> doors;
    std::vector<Task<void>> receivers;
    for (int i = 0; i < 4; ++i) {
      doors.push_back(MakeChan<int>(64));
      receivers.push_back(Go([&turns, door = doors.back()] {
        for ([[maybe_unused]] int _ : door) ++turns;
      }));
    }
    Task<void> foreign = BlockingDetached([&] {
      while (!over) {
        for (Chan<int>& door : doors) (void)door.TrySend(0);
      }
      for (Chan<int>& door : doors) door.Close();
    });
    for (int i = 0; i < 200; ++i) Yield();
    over = true;
    foreign.Join();
    for (Task<void>& receiver : receivers) receiver.Join();
    ping.Close();
  });
}

// Two fibers on a channel that never is empty or full use up their budget and give way.
TEST_P(FairnessTest, OperationsThatNeverWaitSpendABudget) {
  Here([] {
    std::atomic<bool> over{false};
    Chan<int> ch = MakeChan<int>(4);
    ch.Send(0);
    ch.Send(0);
    std::vector<Task<void>> tasks;
    for (int k = 0; k < 2; ++k) {
      tasks.push_back(Go([&] {
        while (!over) ch.Send(*ch.Recv());
      }));
    }
    for (int i = 0; i < 100; ++i) Yield();
    over = true;
    for (Task<void>& task : tasks) task.Join();
  });
}

TEST_P(FairnessTest, ABusyRuntimeServesForeignThreads) {
  Here([this] {
    std::atomic<bool> over{false};
    std::vector<Task<void>> busy;
    for (int i = 0; i < 2 * std::max(workers(), 1); ++i) {
      busy.push_back(Go([&] {
        while (!over) Yield();
      }));
    }
    Chan<int> ch = MakeChan<int>();
    Task<void> echo = Go([ch] {
      for (int i = 0; i < 100; ++i) EXPECT_EQ(ch.Recv(), i);
    });
    Blocking([ch] {  // on a plain thread
      for (int i = 0; i < 100; ++i) ch.Send(int{i});
    });
    echo.Join();
    over = true;
    for (Task<void>& task : busy) task.Join();
  });
}

// One computes, the others are busy, so that none is idle who would look after it. `begin`, on the
// computing fiber, starts what must come true meanwhile.
void WhileOneComputes(int workers, const std::function<void(std::atomic<bool>& done)>& begin) {
  const Watchdog watchdog;
  csp::Run(
      [&] {
        std::atomic<bool> done{false};
        std::atomic<bool> over{false};
        std::atomic<int> turns{0};
        std::vector<Task<void>> busy;
        for (int i = 0; i < 4 * workers; ++i) {
          busy.push_back(Go([&] {
            while (!over) {
              ++turns;
              Yield();
            }
          }));
        }
        while (turns < 100) Yield();
        const int before = turns;
        while (turns < before + 1000) {  // the others are elsewhere
        }
        begin(done);
        while (!done) {
        }
        over = true;
        for (Task<void>& task : busy) task.Join();
      },
      {.workers = workers});
}

TEST(FairnessTest, ATimerOfAWorkerThatComputes) {
  for (const int workers : {2, 4}) {
    WhileOneComputes(workers, [](std::atomic<bool>& done) {
      (void)AfterFunc(absl::Milliseconds(5), [&done] { done = true; });
    });
  }
}

TEST(FairnessTest, ATaskOfAWorkerThatComputes) {
  for (const int workers : {2, 4}) {
    WhileOneComputes(workers, [](std::atomic<bool>& done) { Go([&done] { done = true; }); });
  }
}

TEST_P(FairnessTest, APinnedFiberThatYieldsDoesNotStarveOthers) {
  Here([] {
    std::atomic<bool> over{false};
    Task<void> pinned = Go({.pinned = true}, [&] {
      while (!over) Yield();
    });
    Task<void> other = Go([&] {
      for (int i = 0; i < 100; ++i) Yield();
    });
    other.Join();
    over = true;
    pinned.Join();
  });
}

TEST_P(FairnessTest, APinnedFiberThatYieldsDoesNotStarvePinnedTasks) {
  Here([] {
    Task<void> outer = Go({.pinned = true}, [] {
      std::atomic<bool> over{false};
      Task<void> child = Go({.pinned = true}, [&] { over = true; });  // the same worker
      while (!over) Yield();
      child.Join();
    });
    outer.Join();
  });
}

TEST_P(FairnessTest, OthersThatYieldDoNotStarveAPinnedFiber) {
  Here([] {
    std::atomic<bool> over{false};
    std::vector<Task<void>> busy;
    for (int i = 0; i < 16; ++i) {
      busy.push_back(Go([&] {
        while (!over) Yield();
      }));
    }
    Task<void> pinned = Go({.pinned = true}, [&] {
      for (int i = 0; i < 100; ++i) Yield();
    });
    pinned.Join();
    over = true;
    for (Task<void>& task : busy) task.Join();
  });
}

}  // namespace
}  // namespace csp
