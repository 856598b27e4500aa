#include "csp/task/blocking_call.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/cls/local.h"
#include "csp/sched/internal/sanitizer.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/after_func.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using BlockingCallTest = RuntimeTest;
CSP_INSTANTIATE(BlockingCallTest);

TEST_P(BlockingCallTest, ReturnsAndThrowsWhatTheFunctionDoes) {
  Here([] {
    EXPECT_EQ(Blocking([] { return 3; }), 3);
    EXPECT_EQ(*Blocking([] { return std::make_unique<int>(4); }), 4);
    Blocking([] {});
    EXPECT_THROW(Blocking([] { throw std::runtime_error("x"); }), std::runtime_error);
    EXPECT_THROW(Blocking([]() -> int { throw 1; }), int);
  });
}

TEST_P(BlockingCallTest, BorrowsTheFrame) {
  Here([] {
    std::string text = "before";
    Blocking([&] { text = "after"; });
    EXPECT_EQ(text, "after");
  });
}

TEST_P(BlockingCallTest, RunsOnAnotherThreadUnlessOnAPlainOne) {
  Here([this] {
    const std::thread::id here = std::this_thread::get_id();
    EXPECT_EQ(Blocking([] { return std::this_thread::get_id(); }) == here, on_plain_thread());
  });
}

// A10, by counts: with more calls than workers at work, fibers go on.
TEST_P(BlockingCallTest, DoesNotHoldTheWorkers) {
  Here([] {
    constexpr int kCalls = 50;
    std::atomic<int> inside{0};
    Event over;
    std::vector<Task<void>> calls;
    for (int i = 0; i < kCalls; ++i) {
      calls.push_back(Go([&] {
        Blocking([&] {
          ++inside;
          over.Wait();  // blocks the thread
        });
      }));
    }
    EXPECT_TRUE(EventuallyTrue([&] { return inside == kCalls; }));
    int ticks = 0;
    Go([&] {
      for (; ticks < 100; ++ticks) SleepFor(absl::Microseconds(10));
    }).Join();
    EXPECT_EQ(ticks, 100);
    over.Set();
    for (Task<void>& call : calls) call.Join();
  });
}

TEST_P(BlockingCallTest, MoreCallsThanThePoolHasThreads) {
  Here([] {
    std::atomic<int> calls{0};
    std::vector<Task<void>> tasks;
    const int count = kTsan ? 300 : 1000;
    for (int i = 0; i < count; ++i) {
      tasks.push_back(Go([&] {
        Blocking([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
          ++calls;
        });
      }));
    }
    for (Task<void>& task : tasks) task.Join();
    EXPECT_EQ(calls, count);
  });
}

TEST_P(BlockingCallTest, IsCancelledOnEntryAlone) {
  Here([] {
    std::atomic<bool> inside{false};
    std::atomic<bool> over{false};
    bool came_back = false;
    Task<void> task = Go([&] {
      Blocking([&] {
        inside = true;
        while (!over) std::this_thread::yield();
      });
      came_back = true;
      Blocking([] { ADD_FAILURE() << "ran in a cancelled fiber"; });
    });
    while (!inside) Yield();
    task.Cancel();
    for (int i = 0; i < 10; ++i) Yield();
    EXPECT_FALSE(task.done());
    over = true;
    EXPECT_THROW(task.Join(), TaskCancelled);
    EXPECT_TRUE(came_back);
  });
}

TEST_P(BlockingCallTest, MayUseTheVerbs) {
  Here([] {
    const Chan<int> ch = MakeChan<int>();
    Task<int> sum = Go([ch] { return Blocking([ch] { return *ch.Recv() + *ch.Recv(); }); });
    ch.Send(1);
    Select(ch.OnSend(2));
    EXPECT_EQ(sum.Join(), 3);
  });
}

TEST_P(BlockingCallTest, DetachedIsATask) {
  Here([] {
    EXPECT_EQ(BlockingDetached([](int n) { return n; }, 6).Join(), 6);
    EXPECT_THROW(BlockingDetached([] { throw std::runtime_error("x"); }).Join(),
                 std::runtime_error);
    Task<int> selected = BlockingDetached([] { return 7; });
    EXPECT_EQ(Select(selected.OnJoin()), 7);
  });
}

TEST_P(BlockingCallTest, DetachedMayBeAbandoned) {
  Here([] {
    struct Shared {
      std::atomic<bool> inside{false};
      std::atomic<bool> let_go{false};
      std::atomic<bool> ended{false};
    };
    auto shared = std::make_shared<Shared>();
    std::atomic<bool> joins{false};
    Task<void> joiner = Go([&joins, shared] {
      Task<void> call = BlockingDetached([shared] {
        shared->inside = true;
        while (!shared->let_go) std::this_thread::yield();
        shared->ended = true;
      });
      joins = true;
      call.Join();
    });
    while (!joins || !shared->inside) Yield();
    joiner.Cancel();
    EXPECT_THROW(joiner.Join(), TaskCancelled);
    EXPECT_FALSE(shared->ended);
    shared->let_go = true;
    EXPECT_TRUE(EventuallyTrue([&] { return shared->ended.load(); }));
  });
}

TEST_P(BlockingCallTest, DetachedIsCancelledOnlyBeforeItBegins) {
  Here([] {
    std::atomic<bool> inside{false};
    std::atomic<bool> let_go{false};
    Task<int> begun = BlockingDetached([&] {
      inside = true;
      while (!let_go) std::this_thread::yield();
      return 8;
    });
    while (!inside) Yield();
    begun.Cancel();
    let_go = true;
    EXPECT_EQ(begun.Join(), 8);
  });
}

// What a call starts belongs to the runtime whose fiber made the call.
TEST_P(BlockingCallTest, StartsThingsInTheCallersRuntime) {
  Here([this] {
    const int expected = on_plain_thread() ? GetStats().workers : workers();
    const auto workers_here = [] { return GetStats().workers; };
    const auto check = [&] {
      EXPECT_EQ(GetStats().workers, expected);
      EXPECT_EQ(Go(workers_here).Join(), expected);
      EXPECT_EQ(Go({.pinned = true}, workers_here).Join(), expected);
      EXPECT_EQ(Blocking(workers_here), expected);
      EXPECT_EQ(BlockingDetached(workers_here).Join(), expected);
      const Chan<int> ran = MakeChan<int>(1);
      (void)AfterFunc(absl::Microseconds(1), [&] { ran.Send(GetStats().workers); });
      EXPECT_EQ(ran.Recv(), expected);
      const std::uint64_t fired = GetStats().timers_fired;
      EXPECT_TRUE(EventuallyTrue([fired] {
        SleepFor(
            absl::Milliseconds(1));  // arms no timer if this thread is kept from it for so long
        return GetStats().timers_fired > fired;
      }));
    };
    Blocking(check);
    BlockingDetached(check).Join();
    Go([&] { Blocking(check); }).Join();
  });
}

// --- Locals.

Local<std::string> request{kInherit};
Local<std::string> own;

// One request's values are none of the next one's business, whichever threads they share.
TEST_P(BlockingCallTest, TheFunctionHasTheCallersLocals) {
  if (on_plain_thread()) GTEST_SKIP() << "it runs there";
  Here([] {
    for (int i = 0; i < Rounds(50); ++i) {
      const std::string name = std::to_string(i);
      Go([&] {
        request = name;
        Blocking([&] {
          EXPECT_EQ(*request, name);
          EXPECT_FALSE(own.has_value());
          own = "set by " + name;
          *request += " seen";
          const Local<std::string>::Bind bind(own, "bound");
          EXPECT_EQ(*own, "bound");
          EXPECT_EQ(Go([] { return *request; }).Join(), name + " seen");
        });
        EXPECT_EQ(*own, "set by " + name);
        EXPECT_EQ(*request, name + " seen");
        Blocking([] { Blocking([] { *own += "!"; }); });
        EXPECT_EQ(*own, "set by " + name + "!");
      }).Join();
    }
  });
}

// A binding made outside may end inside.
TEST_P(BlockingCallTest, ABindingMayEndInTheFunction) {
  Here([] {
    own = "before";
    std::optional<Local<std::string>::Bind> bind;
    bind.emplace(own, "bound");
    Blocking([&] { bind.reset(); });
    EXPECT_EQ(*own, "before");
  });
}

struct CountsItself {
  static inline std::atomic<int> alive{0};
  CountsItself() { ++alive; }
  CountsItself(const CountsItself&) { ++alive; }
  ~CountsItself() { --alive; }
};
Local<CountsItself> counted;

TEST_P(BlockingCallTest, DetachedInheritsAndLeavesNothingBehind) {
  Here([] {
    request = "ann";
    Task<void> ann = BlockingDetached([] {
      EXPECT_EQ(*request, "ann");
      EXPECT_FALSE(own.has_value());
      *request += "!";
      own = "left by ann";
      (void)*counted;
      EXPECT_EQ(CountsItself::alive, 1);
    });
    request = "bob";  // too late for ann
    ann.Join();
    EXPECT_EQ(CountsItself::alive, 0);
    for (int i = 0; i < 10; ++i) {
      BlockingDetached([] {
        EXPECT_EQ(*request, "bob");
        EXPECT_FALSE(own.has_value());
      }).Join();
    }
    EXPECT_EQ(*request, "bob");
    request = "";
  });
}

// Run waits for calls that are under way, which may use its frame.
TEST(BlockingShutdownTest, RunWaitsForTheCalls) {
  const Watchdog watchdog;
  for (int i = 0; i < Rounds(200); ++i) {
    std::atomic<int> entered{0};
    std::atomic<int> left{0};
    csp::Run(
        [&] {
          Event begun;
          Go([&] {
            Blocking([&] {
              ++entered;
              begun.Set();
              std::this_thread::sleep_for(std::chrono::microseconds(50));
              ++left;
            });
          });
          begun.Wait();
          BlockingDetached([&] {
            ++entered;
            std::this_thread::sleep_for(std::chrono::microseconds(50));
            ++left;
          });
        },
        {.workers = 1 + i % 2});
    ASSERT_EQ(entered, left);
    ASSERT_EQ(entered, 2);
  }
}

// A call that its task has left behind may still start things, up to the shutdown; Run waits for the
// call and for what it has started.
TEST(BlockingShutdownTest, RunWaitsForWhatTheCallsStart) {
  const Watchdog watchdog;
  for (int i = 0; i < Rounds(200); ++i) {
    std::atomic<int> started{0};
    std::atomic<int> ended{0};
    std::atomic<bool> refused{false};
    Event begun;  // the call may outlive the main function's frame
    csp::Run(
        [&] {
          BlockingDetached([&] {
            try {
              for (;;) {
                Go([&] {
                  struct Ending {
                    std::atomic<int>& ended;
                    ~Ending() { ++ended; }
                  };
                  ++started;
                  const Ending ending{ended};
                  SleepFor(absl::Hours(1));
                });
                begun.Set();
                SleepFor(absl::Microseconds(5));
              }
            } catch (const RuntimeError&) {
              refused = true;
            }
            SleepFor(absl::Microseconds(20));  // the workers still are there
          });
          begun.Wait();
          SleepFor(absl::Microseconds(i % 50));
        },
        {.workers = 1 + i % 2});
    ASSERT_TRUE(refused);
    ASSERT_EQ(started, ended);
  }
}

// It keeps the runtime that it was called in.
void LeaveACallBehind() {
  std::atomic<bool> over{false};
  std::atomic<int> workers{0};
  csp::Run(
      [&] {
        Event begun;
        BlockingDetached([&] {
          begun.Set();
          while (!over) SleepFor(absl::Milliseconds(1));
          workers = GetStats().workers;
        });
        begun.Wait();
      },
      {.workers = 3, .grace = absl::Milliseconds(20)});
  over = true;
  while (workers == 0) std::this_thread::yield();
  std::_Exit(workers == 3 ? 0 : 1);
}

TEST(BlockingShutdownTest, ACallThatIsLeftBehindGoesOn) {
  EXPECT_CHILD(LeaveACallBehind(), testing::ExitedWithCode(0), "");
}

TEST(BlockingEndTest, AThreadThatHasEndedIsNoLeak) {
  if (!internal::kTsan) GTEST_SKIP() << "TSan alone complains";
  EXPECT_CHILD(
      {
        Go([] { Blocking([] {}); }).Join();
        std::this_thread::sleep_for(std::chrono::seconds(12));  // longer than an idle one's life
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace csp
