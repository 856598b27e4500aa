// What a cancelled fiber still may do: under a Shield, in destructors, in catch blocks.
#include <atomic>
#include <csignal>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/select/shield.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using CancelUnwindTest = RuntimeTest;
CSP_INSTANTIATE(CancelUnwindTest);

template <class F>
void ExpectCancelled(Task<F>& task) {
  EXPECT_THROW(task.Join(), TaskCancelled);
}

TEST_P(CancelUnwindTest, AShieldKeepsItOff) {
  Here([] {
    const Chan<int> ch = MakeChan<int>();
    std::atomic<bool> begun{false};
    Task<int> task = Go([&] {
      int got = 0;
      {
        const Shield outer;
        {
          const Shield inner;
          begun = true;
          got += *ch.Recv();
        }
        got += *ch.Recv();
        Select(ch.OnRecv() >> [&](std::optional<int> v) { got += *v; });
        SleepFor(absl::Microseconds(10));
      }
      EXPECT_THROW(ch.Recv(), Cancelled);
      return got;
    });
    while (!begun) Yield();
    task.Cancel();
    for (int i = 1; i <= 3; ++i) ch.Send(int{i});
    EXPECT_EQ(task.Join(), 6);
  });
}

// G2
TEST_P(CancelUnwindTest, DestructorsSeeOneMoreUncaughtException) {
  struct Guard {
    int& seen;
    int before = std::uncaught_exceptions();
    ~Guard() { seen = std::uncaught_exceptions() - before; }
  };
  Here([] {
    std::atomic<bool> begun{false};
    int seen = -1;
    Task<void> task = Go([&] {
      const Guard guard{seen};
      begun = true;
      Event().Wait();
    });
    while (!begun) Yield();
    task.Cancel();
    ExpectCancelled(task);
    EXPECT_EQ(seen, 1);
  });
}

// Destructors are noexcept: a blocking call in one must wait, not throw.
TEST_P(CancelUnwindTest, DestructorsMayWait) {
  struct Waits {
    Chan<int> ch;
    Event& event;
    int& waited;
    ~Waits() {
      waited += *ch.Recv();
      event.Wait();
      waited += Go([] { return 10; }).Join();
      waited += Blocking([] { return 100; });
      Select(ch.OnRecv() >> [&](std::optional<int> v) { waited += *v; });
      Yield();
    }
  };
  Here([] {
    const Chan<int> ch = MakeChan<int>();
    Event event;
    std::atomic<bool> begun{false};
    int waited = 0;
    Task<void> task = Go([&] {
      const Waits waits{ch, event, waited};
      begun = true;
      Event().Wait();
    });
    while (!begun) Yield();
    task.Cancel();
    ch.Send(1);
    event.Set();
    ch.Send(1000);
    ExpectCancelled(task);
    EXPECT_EQ(waited, 1111);
  });
}

// A catch block is no destructor: there a cancelled fiber is told again.
TEST_P(CancelUnwindTest, AHandlerIsTold) {
  Here([] {
    std::atomic<bool> begun{false};
    int told = 0;
    Task<void> task = Go([&] {
      begun = true;
      try {
        Event().Wait();
      } catch (const Cancelled&) {
        ++told;
        try {
          Event().Wait();
        } catch (const Cancelled&) {
          ++told;
        }
        throw;
      }
    });
    while (!begun) Yield();
    task.Cancel();
    ExpectCancelled(task);
    EXPECT_EQ(told, 2);
  });
}

// Waits in its destructor, unless it has been moved from.
struct Waits {
  explicit Waits(std::atomic<int>* times) : times(times) {}
  Waits(Waits&& other) noexcept : times(std::exchange(other.times, nullptr)) {}
  ~Waits() {
    if (times == nullptr) return;
    SleepFor(absl::Microseconds(10));
    Go([] {}).Join();
    ++*times;
  }
  std::atomic<int>* times;
};

TEST_P(CancelUnwindTest, ClosuresAreDestroyedShielded) {
  Here([] {
    std::atomic<int> times{0};
    std::atomic<bool> begun{false};
    Task<void> task = Go([&begun, waits = Waits(&times)] {
      begun = true;
      Event().Wait();
    });
    while (!begun) Yield();
    task.Cancel();
    ExpectCancelled(task);
    EXPECT_EQ(times, 1);
  });
}

TEST_P(CancelUnwindTest, ResultsNobodyWantsAreDestroyedShielded) {
  Here([] {
    for (int i = 1; i <= Rounds(100); ++i) {
      std::atomic<int> times{0};
      std::atomic<bool> begun{false};
      std::atomic<bool> go_on{false};
      {
        Task<Waits> task = Go([&] {
          begun = true;
          while (!go_on) {
            const Shield shield;
            Yield();
          }
          return Waits(&times);
        });
        while (!begun) Yield();
        if (i % 2 == 0) task.Cancel();
        go_on = true;
      }
      ASSERT_TRUE(EventuallyTrue([&] { return times == 1; }));
    }
    EXPECT_TRUE(
        EventuallyTrue([] { return GetStats().tasks_spawned <= GetStats().tasks_finished + 1; }));
  });
}

TEST_P(CancelUnwindTest, AFailureOfTheCleanUpIsReported) {  // F5
  Here([] {
    std::atomic<bool> begun{false};
    Task<void> task = Go([&] {
      begun = true;
      try {
        Event().Wait();
      } catch (const Cancelled&) {
        throw std::runtime_error("clean-up");
      }
    });
    while (!begun) Yield();
    task.Cancel();
    EXPECT_THROW(task.Join(), std::runtime_error);
  });
}

// --- What is said of those who do not let it pass.

struct BlocksAtItsEnd {
  ~BlocksAtItsEnd() { (void)ch.Recv(); }
  const Chan<int> ch = MakeChan<int>();
};

// Cancelled before the destructor blocks, or while it does.
void CancelInADestructor(bool while_it_waits) {
  csp::Run(
      [while_it_waits] {
        Event begun, cancelled;
        Task<void> task = Go({.name = "careless"}, [&] {
          const BlocksAtItsEnd end;
          const Shield shield;
          begun.Set();
          if (!while_it_waits) cancelled.Wait();
        });
        begun.Wait();
        if (while_it_waits) {
          for (int i = 0; i < 10; ++i) Yield();  // one worker: it has got there
        }
        task.Cancel();
        cancelled.Set();
        (void)EventuallyTrue([&] { return task.done(); });
      },
      {.workers = 1});
}

TEST(CancelReportTest, NamesTheFiberWhoseDestructorLetItOut) {
  const char* kReport =
      "fiber [0-9]+ \"careless\", spawned at .*, is cancelled, and "
      "csp::Cancelled, thrown by a blocking call in .*, has met a "
      "function that is noexcept(.|\n)*terminate called";
  EXPECT_CHILD(CancelInADestructor(false), testing::KilledBySignal(SIGABRT), kReport);
  EXPECT_CHILD(CancelInADestructor(true), testing::KilledBySignal(SIGABRT), kReport);
}

void SwallowsIt() {
  csp::Run([] {
    Event begun;
    Task<void> task = Go({.name = "deaf"}, [&] {
      begun.Set();
      for (int times = 0; times < 1500;) {
        try {
          Yield();
        } catch (const Cancelled&) {
          ++times;
        }
      }
    });
    begun.Wait();
    task.Cancel();
    task.Join();
  });
}

TEST(CancelReportTest, NamesAFiberThatSwallowsItOnce) {
  EXPECT_CHILD(SwallowsIt(), testing::ExitedWithCode(0),
               "^csp: fiber [0-9]+ \"deaf\", spawned at [^\n]*, has been told 1000 times that it "
               "is cancelled and goes on; let csp::Cancelled pass\n$");
}

[[gnu::noinline]] void ThrowsMine() { throw std::runtime_error("mine"); }

// Another exception's end is none of csp's business.
TEST(CancelReportTest, SaysNothingOfOtherExceptions) {
  EXPECT_CHILD(
      {
        SwallowsIt();
        []() noexcept { ThrowsMine(); }();
      },
      testing::KilledBySignal(SIGABRT), "let csp::Cancelled pass\nterminate called");
}

}  // namespace
}  // namespace csp
