#include "csp/task/panic_handler.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

// Collects what the process's handler is told while it lives.
class Reports {
 public:
  Reports() : previous_(SetPanicHandler([ch = ch_](const PanicReport& r) { ch.Send(r); })) {}
  ~Reports() { SetPanicHandler(previous_); }

  PanicReport Next() { return *ch_.Recv(); }
  std::size_t waiting() const { return ch_.len(); }

 private:
  const Chan<PanicReport> ch_ = MakeChan<PanicReport>(kUnbounded);
  PanicHandler previous_;
};

using PanicHandlerTest = RuntimeTest;
CSP_INSTANTIATE(PanicHandlerTest);

// G5, the half of it that needs no scope.
TEST_P(PanicHandlerTest, TellsOfADetachedFailure) {
  Here([] {
    Reports reports;
    Task<void> task = Go({.name = "worker bee"}, [] { throw std::out_of_range("far out"); });
    const std::uint64_t number = task.number();
    task.Detach();
    const PanicReport report = reports.Next();
    EXPECT_EQ(report.task, number);
    EXPECT_EQ(report.name, "worker bee");
    EXPECT_EQ(report.type, "std::out_of_range");
    EXPECT_EQ(report.what, "far out");
    EXPECT_NE(report.spawn_site, nullptr);
    EXPECT_THROW(std::rethrow_exception(report.error), std::out_of_range);
    EXPECT_EQ(report.ToString().find("csp: task " + std::to_string(number) +
                                     " \"worker bee\" failed with std::out_of_range: far out; "
                                     "spawned at "),
              0U)
        << report.ToString();
    EXPECT_EQ(reports.waiting(), 0U);
  });
}

[[gnu::noinline]] void CallsBlockingDetachedByName() {
  BlockingDetached([] { throw 1; }).Detach();
  asm volatile("");  // the call above is no tail call
}

// The caller's line, not one of csp's headers.
TEST_P(PanicHandlerTest, TheSpawnSiteOfADetachedCallIsItsCaller) {
  Here([] {
    Reports reports;
    CallsBlockingDetachedByName();
    const std::string text = reports.Next().ToString();
    EXPECT_NE(text.find("CallsBlockingDetachedByName"), std::string::npos) << text;
  });
}

TEST_P(PanicHandlerTest, TellsWhenTheLastHandleIsDropped) {
  Here([] {
    Reports reports;
    {
      Task<void> task = Go([] { throw 1; });
      while (!task.done()) Yield();
      EXPECT_EQ(reports.waiting(), 0U);
    }
    const PanicReport report = reports.Next();
    EXPECT_EQ(report.type, "int");
    EXPECT_EQ(report.what, "");
    EXPECT_EQ(report.name, "");
  });
}

TEST_P(PanicHandlerTest, IsNotToldOfWhatJoinHasSeen) {
  Here([] {
    Reports reports;
    Task<void> task = Go([] { throw 1; });
    EXPECT_THROW(task.Join(), int);
    Task<void> cancelled = Go([] {
      for (;;) Yield();
    });
    cancelled.Cancel();
    cancelled.Detach();
    Go([] {}).Join();
    for (int i = 0; i < 100; ++i) Yield();
    EXPECT_EQ(reports.waiting(), 0U);
  });
}

// Each failure once, however the drop races the end.
TEST_P(PanicHandlerTest, OncePerFailure) {
  Here([] {
    Reports reports;
    const int rounds = Rounds(1000);
    for (int i = 0; i < rounds; ++i) {
      const Task<void> task = Go([i] { throw i; });
      if (i % 2 == 0) Yield();
      if (i % 3 == 0) SleepFor(absl::Microseconds(1));
    }
    std::vector<int> seen(rounds);
    for (int i = 0; i < rounds; ++i) {
      try {
        std::rethrow_exception(reports.Next().error);
      } catch (int number) {
        ++seen[number];
      }
    }
    EXPECT_EQ(seen, std::vector<int>(rounds, 1));
  });
}

// It may wait: it runs while its fiber is still the task's.
TEST_P(PanicHandlerTest, MayBlock) {
  Here([] {
    const Chan<int> through = MakeChan<int>();
    const PanicHandler previous = SetPanicHandler([through](const PanicReport&) {
      SleepFor(absl::Microseconds(100));
      through.Send(1);
      Go([] {}).Join();
      through.Send(2);
    });
    for (int i = 0; i < Rounds(100); ++i) {
      Event detached;  // else the failure might be this fiber's or thread's to report
      Go([&] {
        detached.Wait();
        throw 1;
      });
      detached.Set();
      EXPECT_EQ(through.Recv(), 1);
      EXPECT_EQ(through.Recv(), 2);
    }
    SetPanicHandler(previous);
  });
}

TEST_P(PanicHandlerTest, MayThrow) {
  Here([] {
    std::atomic<int> told{0};
    const PanicHandler previous = SetPanicHandler([&](const PanicReport&) {
      ++told;
      throw std::runtime_error("the handler");
    });
    Go([] { throw 1; });
    Go([] { throw 2; });
    EXPECT_TRUE(EventuallyTrue([&] { return told == 2; }));
    SetPanicHandler(previous);
  });
}

TEST(RunPanicHandlerTest, EachRuntimeHasItsOwn) {
  const Watchdog watchdog;
  const Reports reports;
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  std::thread other([&] {
    csp::Run(
        [&] {
          Go([] { throw 1; });
          EXPECT_TRUE(EventuallyTrue([&] { return first == 1; }));
        },
        {.on_panic = [&](const PanicReport& report) { first += report.type == "int" ? 1 : 100; }});
  });
  csp::Run(
      [&] {
        Go([] { throw 2L; });
        EXPECT_TRUE(EventuallyTrue([&] { return second == 1; }));
      },
      {.on_panic = [&](const PanicReport& report) { second += report.type == "long" ? 1 : 100; }});
  other.join();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(reports.waiting(), 0U);
}

// The runtime of the task, not of the thread that happens to drop the handle.
TEST(RunPanicHandlerTest, TheTasksRuntimeCountsNotTheDroppers) {
  const Watchdog watchdog;
  const Reports reports;
  std::atomic<int> told{0};
  csp::Run(
      [&] {
        Task<void> task = Go([] { throw 1; });
        while (!task.done()) Yield();
        Blocking([&task] { task.Detach(); });  // on a plain thread
      },
      {.on_panic = [&](const PanicReport&) { ++told; }});
  EXPECT_EQ(told, 1);
  EXPECT_EQ(reports.waiting(), 0U);
}

TEST(RunPanicHandlerTest, ABlockingCallReportsToItsRuntime) {
  const Watchdog watchdog;
  const Reports reports;
  std::atomic<int> told{0};
  csp::Run(
      [&] {
        BlockingDetached([] { throw 1; });
        EXPECT_TRUE(EventuallyTrue([&] { return told != 0 || reports.waiting() != 0; }));
      },
      {.on_panic = [&](const PanicReport&) { ++told; }});
  EXPECT_EQ(told, 1);
  EXPECT_EQ(reports.waiting(), 0U);
}

void FailDetached() {
  Task<void> task = Go({.name = "fails"}, [] { throw std::runtime_error("why"); });
  while (!task.done()) Yield();
  task.Detach();
}

TEST(DefaultPanicHandlerTest, PrintsALineAndTheProcessLives) {
  EXPECT_CHILD(FailDetached(), testing::ExitedWithCode(0),
               "csp: task [0-9]+ \"fails\" failed with std::runtime_error: why; spawned at .*\n");
}

}  // namespace
}  // namespace csp
