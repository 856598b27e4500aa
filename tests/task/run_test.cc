#include "csp/task/run.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/sched/dump.h"
#include "csp/select/blocking.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/after_func.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using testing::ExitedWithCode;

constexpr int kWorkerCounts[] = {1, 2, 4, 8};

// Counts how many of it live, wherever.
class Counted {
 public:
  explicit Counted(std::atomic<int>& live) : live_(&live) { ++live; }
  Counted(const Counted& other) : live_(other.live_) { ++*live_; }
  ~Counted() { --*live_; }

 private:
  std::atomic<int>* live_;
};

template <class F>
std::string MessageOf(F f) {
  try {
    f();
  } catch (const Panic& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(RunTest, ReturnsWhatMainReturns) {
  EXPECT_EQ(csp::Run([] { return 42; }), 42);
  EXPECT_EQ(csp::Run([] {}), 0);
  EXPECT_EQ(csp::Run([] { return true; }), 1);
}

TEST(RunTest, ThrowsWhatMainThrows) {
  EXPECT_THROW(csp::Run([] { throw std::out_of_range("x"); }), std::out_of_range);
  EXPECT_THROW(csp::Run([] { throw 7; }), int);
}

void WaitBesideAFailingMain(std::atomic<int>& live) {
  Event ready;
  Go([&] {
    const Counted counted(live);
    ready.Set();
    MakeChan<int>().Recv();
  });
  ready.Wait();
  throw std::runtime_error("main");
}

TEST(RunTest, ThrowsAfterTheRestIsUnwound) {
  std::atomic<int> live{0};
  EXPECT_THROW(csp::Run([&] { WaitBesideAFailingMain(live); }), std::runtime_error);
  EXPECT_EQ(live, 0);
}

TEST(RunTest, OptionsOutOfRange) {
  const auto nothing = [] { ADD_FAILURE() << "ran"; };
  const auto message = [&](const RunOptions& options) {
    return MessageOf([&] { csp::Run(nothing, options); });
  };
  EXPECT_EQ(message({.workers = -1}),
            "Run: RunOptions::workers is -1; give 1 to 1024, or 0 for one per usable processor");
  EXPECT_NE(message({.workers = 1025}).find("workers is 1025"), std::string::npos);
  for (const std::size_t size : {std::size_t{0}, (std::size_t{1} << 30) + 1}) {
    EXPECT_EQ(message({.stack_size = size}), "Run: RunOptions::stack_size is " +
                                                 std::to_string(size) +
                                                 "; give between 1 byte (rounded up to 16 KiB) "
                                                 "and 1 GiB");
    EXPECT_NE(message({.main_stack_size = size}).find("main_stack_size is"), std::string::npos);
  }
  EXPECT_NE(message({.grace = absl::Seconds(-1)}).find("grace is negative"), std::string::npos);
  const RunOptions wrong{.workers = -1};
  EXPECT_THROW(csp::Run(nothing, wrong), InvalidArgument);
}

TEST(RunTest, AnEmptyFunctionIsRefused) {
  EXPECT_EQ(MessageOf([] { csp::Run(std::function<int()>()); }),
            "Run: the function is empty (a default-constructed std::function or a null pointer); "
            "give one that can be called");
  void (*const null)() = nullptr;
  EXPECT_THROW(csp::Run(null), InvalidArgument);
}

TEST(RunTest, OptionsAtTheirEnds) {
  const RunOptions least{.workers = 64, .stack_size = 1, .grace = absl::ZeroDuration()};
  EXPECT_EQ(csp::Run([] { return 1; }, least), 1);
  const RunOptions most{
      .workers = 1, .main_stack_size = std::size_t{1} << 30, .grace = absl::InfiniteDuration()};
  EXPECT_EQ(csp::Run([] { return 1; }, most), 1);
}

TEST(RunTest, NotInsideAFiber) {
  csp::Run([] {
    EXPECT_EQ(MessageOf([] { csp::Run([] {}); }),
              "Run: called on a fiber; use Go, or call Run on a thread of its own");
    EXPECT_THROW(csp::Run([] {}), RuntimeError);
    EXPECT_EQ(Blocking([] { return csp::Run([] { return 5; }); }), 5);
  });
}

TEST(RunTest, TwoAtOnce) {
  const Watchdog watchdog;
  Chan<int> ch = MakeChan<int>();
  std::thread other([&] {
    csp::Run([&] {
      for (int i = 0; i < 1000; ++i) ch.Send(int{i});
    });
  });
  csp::Run(
      [&] {
        for (int i = 0; i < 1000; ++i) ASSERT_EQ(ch.Recv(), i);
      },
      {.workers = 3});
  other.join();
}

// Whoever is left when main returns is unwound: destructors run.
// L7
TEST(RunTest, UnwindsWhoIsLeft) {
  const Watchdog watchdog;
  for (const int workers : kWorkerCounts) {
    SCOPED_TRACE(workers);
    std::atomic<int> live{0};
    csp::Run(
        [&] {
          auto ready = std::make_shared<std::atomic<int>>(0);
          auto never = std::make_shared<Event>();
          const Chan<int> ch = MakeChan<int>();
          const Chan<int> full = MakeChan<int>();
          int kinds = 0;
          const auto start = [&](auto body) {
            ++kinds;
            Go([&live, ready, body] {
              const Counted counted(live);
              ++*ready;
              body();
            });
          };
          start([never] { never->Wait(); });
          start([ch] { ch.Recv(); });
          start([full] { full.Send(1); });
          start([] { SleepFor(absl::Hours(1)); });
          start([ch, never] {
            Select(
                ch.OnRecv() >> [](std::optional<int>) {}, never->OnWait(),
                OnTimeout(absl::Hours(1)));
          });
          start([never] { Go([never] { never->Wait(); }).Join(); });
          start([never] {
            Task<void> task = Go([never] { never->Wait(); });
            Select(task.OnJoin());
          });
          start([] {
            for (;;) Yield();
          });
          start([] {
            for (;;) SleepFor(absl::Microseconds(10));
          });
          start([] {
            for (;;) Blocking([] {});
          });
          EXPECT_TRUE(EventuallyTrue([&] { return *ready == kinds; }));
          // These have not begun.
          for (int i = 0; i < 100; ++i) Go([counted = Counted(live)] { Yield(); });
          Go({.pinned = true}, [counted = Counted(live)] { Event().Wait(); });
        },
        {.workers = workers});
    EXPECT_EQ(live, 0);
  }
}

TEST(RunTest, ManyTimesWithWhoeverIsLeft) {
  const Watchdog watchdog;
  std::atomic<int> live{0};
  for (int i = 0; i < Rounds(400); ++i) {
    csp::Run(
        [&] {
          const Chan<int> ch = MakeChan<int>();
          for (int k = 0; k < 10; ++k) {
            Go([&live, ch] {
              const Counted counted(live);
              for ([[maybe_unused]] int _ : ch) Yield();
            });
          }
          for (int k = 0; k < i % 7; ++k) ch.Send(int{k});
        },
        {.workers = 1 + i % 3});
    ASSERT_EQ(live, 0);
  }
}

// An unwinding destructor may wait for others, which still run.
TEST(RunTest, DestructorsMayWaitDuringTheShutdown) {
  struct Waits {
    std::atomic<int>& waited;
    ~Waits() {
      SleepFor(absl::Milliseconds(1));
      Yield();
      ++waited;
    }
  };
  const Watchdog watchdog;
  for (const int workers : kWorkerCounts) {
    std::atomic<int> waited{0};
    csp::Run(
        [&] {
          Event ready;
          Go([&] {
            const Waits waits{waited};
            ready.Set();
            Event().Wait();
          });
          ready.Wait();
        },
        {.workers = workers});
    EXPECT_EQ(waited, 1);
  }
}

TEST(RunTest, GoDuringTheShutdownThrows) {
  const Watchdog watchdog;
  std::string message;
  csp::Run([&] {
    Event ready;
    Go([&] {
      ready.Set();
      try {
        Event().Wait();
      } catch (const Cancelled&) {
        message = MessageOf([] { Go([] {}); });
        throw;
      }
    });
    ready.Wait();
  });
  EXPECT_NE(message.find("shutting down"), std::string::npos) << message;
}

// The grace begins when it has been told often, for which it might be too short.
void RunWithASwallower(int workers) {
  static std::atomic<int> told{0};
  csp::Run(
      [] {
        Event ready;
        Task<void> swallower = Go({.name = "swallower"}, [&ready] {
          ready.Set();
          for (;;) {
            try {
              SleepFor(absl::Hours(1));
            } catch (const Cancelled&) {
              ++told;
            }
          }
        });
        ready.Wait();
        swallower.Cancel();
        while (told < 1001) Yield();
      },
      {.workers = workers, .grace = absl::Milliseconds(200)});
}

// Level-triggered cancellation that somebody swallows in a loop.
TEST(RunTest, ALoopThatSwallowsCancelledDoesNotHoldRun) {
  for (const int workers : {1, 2}) {
    EXPECT_CHILD(RunWithASwallower(workers), ExitedWithCode(0),
                 "told 1000 times(.|\n)*grace period(.|\n)*swallower");
  }
}

// The count may have main in it, which has been joined.
const std::string kOneIsLeft =
    "Run: (1 task|2 tasks) did not end within the grace period:\n(.|\n)*";

// L2
void RunWithAStubbornTask(int workers) {
  std::atomic<bool> over{false};
  csp::Run(
      [&] {
        Event ready;
        Go({.name = "stubborn"}, [&] {
          ready.Set();
          while (!over) {
          }
        });
        ready.Wait();
      },
      {.workers = workers, .grace = absl::Milliseconds(50)});
  std::_Exit(7);
}

TEST(RunTest, NamesAStubbornTaskAfterTheGraceAndReturns) {
  for (const int workers : {2, 4}) {
    EXPECT_CHILD(RunWithAStubbornTask(workers), ExitedWithCode(7),
                 kOneIsLeft + "\"stubborn\" running");
  }
}

void AwaitInDump(const std::string& text) {
  EXPECT_TRUE(EventuallyTrue([&] { return DumpFibers().find(text) != std::string::npos; }));
}

void RunWithAShieldedTask() {
  csp::Run(
      [] {
        Event ready;
        Go({.name = "shielded"}, [&ready] {
          const Shield shield;
          ready.Set();
          MakeChan<int>().Recv();
        });
        ready.Wait();
        AwaitInDump("\"shielded\" parked in chan Recv");
      },
      {.workers = 2, .grace = absl::Milliseconds(50)});
}

TEST(RunTest, NamesAShieldedTaskAfterTheGraceAndReturns) {
  EXPECT_CHILD(RunWithAShieldedTask(), ExitedWithCode(0), "\"shielded\" parked in chan Recv");
}

// Not those who have nothing to do with it, however many come first.
void RunWithAStubbornTaskAmongOthers() {
  for (int i = 0; i < 150; ++i) Go({.name = "bystander"}, [] { MakeChan<int>().Recv(); });
  while (GetStats().parks < 150) std::this_thread::yield();
  RunWithAShieldedTask();
}

TEST(RunTest, NamesNobodyElse) {
  EXPECT_CHILD(RunWithAStubbornTaskAmongOthers(), ExitedWithCode(0),
               testing::AllOf(testing::HasSubstr("\"shielded\" parked in chan Recv"),
                              testing::Not(testing::ContainsRegex("bystander|\nthread"))));
}

void RunWithABlockingCall() {
  csp::Run(
      [] {
        static Event begun;
        BlockingDetached([] {
          begun.Set();
          for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        });
        begun.Wait();
      },
      {.workers = 2, .grace = absl::Milliseconds(50)});
  std::_Exit(7);
}

TEST(RunTest, NamesBlockingCallsThatAreLeft) {
  EXPECT_CHILD(RunWithABlockingCall(), ExitedWithCode(7),
               "Run: 1 Blocking call did not end within the grace period");
}

TEST(RunTest, EndsWithArmedTimers) {
  const Watchdog watchdog;
  std::atomic<int> live{0};
  AfterFuncTimer outlives;
  csp::Run([&] {
    for (int i = 0; i < 10; ++i) (void)AfterFunc(absl::Hours(1), [c = Counted(live)] {});
    outlives = AfterFunc(absl::Hours(1), [c = Counted(live)] {});
  });
  EXPECT_EQ(live, 1);
  EXPECT_FALSE(outlives.Stop());
  outlives = {};
  EXPECT_EQ(live, 0);
}

TEST(RunTest, TimersThatFireDuringTheShutdown) {
  const Watchdog watchdog;
  for (int i = 0; i < Rounds(400); ++i) {
    std::atomic<int> live{0};
    csp::Run(
        [&] {
          for (int k = 0; k < 20; ++k) {
            (void)AfterFunc(absl::Microseconds(k * 10), [c = Counted(live)] {
              SleepFor(absl::Microseconds(1));
              MakeChan<int>().Recv();
            });
          }
          SleepFor(absl::Microseconds(i % 200));
        },
        {.workers = 1 + i % 3});
    ASSERT_EQ(live, 0);
  }
}

// A channel outlives the runtime in which others waited for it.
TEST(RunTest, AChannelOutlivesItsRuntime) {
  Chan<int> ch = MakeChan<int>(1);
  csp::Run([&] {
    Go([ch] {
      for (int i = 0;; ++i) ch.Send(int{i});
    });
    EXPECT_EQ(ch.Recv(), 0);
    EXPECT_EQ(ch.Recv(), 1);
  });
  std::optional<int> left;
  EXPECT_TRUE(ch.TrySend(7) || ch.TryRecv(left));
  ch.Close();
}

TEST(ShutdownTest, OfARuntimeThatNeverStarted) {
  EXPECT_CHILD(std::_Exit(Shutdown(absl::ZeroDuration()) ? 3 : 4), ExitedWithCode(3), "");
}

void ShutDownTheDefault() {
  static std::atomic<int> live{0};
  Event ready;
  Go([&] {
    const Counted counted(live);
    ready.Set();
    Event().Wait();
  });
  ready.Wait();
  if (!Shutdown(absl::Seconds(10))) std::_Exit(2);
  if (live != 0) std::_Exit(3);
  if (MessageOf([] { Go([] {}); }).find("shutting down") == std::string::npos) std::_Exit(4);
  const Chan<int> ch = MakeChan<int>(1);
  if (!ch.TrySend(1)) std::_Exit(5);
  ch.Close();
}

TEST(ShutdownTest, UnwindsTheDefaultRuntime) {
  EXPECT_CHILD(ShutDownTheDefault(), ExitedWithCode(0), "");
}

void ShutDownFromAFiber() {
  std::string message;
  Go([&] { message = MessageOf([] { Shutdown(absl::Seconds(1)); }); }).Join();
  std::_Exit(message.find("Shutdown: called on a fiber") == 0 ? 0 : 1);
}

// L4
TEST(ShutdownTest, NotOnAFiberOfTheDefaultRuntime) {
  EXPECT_CHILD(ShutDownFromAFiber(), ExitedWithCode(0), "");
}

void ShutDownWithAShieldedTask() {
  Event ready;
  Go({.name = "stays"}, [&] {
    const Shield shield;
    ready.Set();
    MakeChan<int>().Recv();
  });
  ready.Wait();
  AwaitInDump("\"stays\" parked");
  std::_Exit(Shutdown(absl::Milliseconds(20)) ? 1 : 6);
}

TEST(ShutdownTest, NamesWhoIsLeft) {
  EXPECT_CHILD(ShutDownWithAShieldedTask(), ExitedWithCode(6),
               "Shutdown: 1 task did not end(.|\n)*\"stays\" parked");
}

// Main has been joined, but it may not have been counted yet: it is no straggler.
TEST(RunGraceTest, MainIsNotNamedAfterItsEnd) {
  const Watchdog watchdog;
  testing::internal::CaptureStderr();
  for (int i = 0; i < Rounds(1000); ++i) {
    csp::Run([] {}, {.workers = 2, .grace = absl::ZeroDuration()});
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace csp
