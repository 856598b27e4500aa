#include "csp/task/after_func.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/panic_handler.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using AfterFuncTest = RuntimeTest;
CSP_INSTANTIATE(AfterFuncTest);

TEST_P(AfterFuncTest, RunsOnceAfterTheDelay) {
  Here([] {
    const absl::Time begin = Now();
    const Chan<absl::Time> ran = MakeChan<absl::Time>(2);
    const AfterFuncTimer timer = AfterFunc(absl::Milliseconds(2), [ran] { ran.Send(Now()); });
    EXPECT_GE(*ran.Recv() - begin, absl::Milliseconds(2));
    SleepFor(absl::Milliseconds(3));
    EXPECT_EQ(ran.len(), 0U);
  });
}

TEST_P(AfterFuncTest, AtOnceAndNever) {
  Here([] {
    const Chan<int> ran = MakeChan<int>(2);
    (void)AfterFunc(absl::Seconds(-1), [ran] { ran.Send(1); });
    EXPECT_EQ(ran.Recv(), 1);
    AfterFuncTimer never = AfterFunc(absl::InfiniteDuration(), [ran] { ran.Send(2); });
    EXPECT_TRUE(never.Reset(absl::ZeroDuration()));
    EXPECT_EQ(ran.Recv(), 2);
    EXPECT_FALSE(never.Stop());
    EXPECT_FALSE(never.Reset(absl::InfiniteDuration()));
    EXPECT_TRUE(never.Stop());
    EXPECT_FALSE(never.Stop());
  });
}

TEST_P(AfterFuncTest, EmptyHandlesAndFunctions) {
  Here([] {
    AfterFuncTimer empty;
    EXPECT_FALSE(empty.Stop());
    EXPECT_THROW(empty.Reset(absl::Seconds(1)), InvalidArgument);
    EXPECT_THROW(AfterFunc(absl::Seconds(1), std::function<void()>()), InvalidArgument);
    void (*null)() = nullptr;
    EXPECT_THROW(AfterFunc(absl::Seconds(1), null), InvalidArgument);
  });
}

std::atomic<int> calls_by_pointer{0};
void CallByPointer() { ++calls_by_pointer; }

// As Go takes it; and Go's commonest form needs no handle.
TEST_P(AfterFuncTest, TakesWhatCanBeCalled) {
  Here([] {
    const Chan<int> ran = MakeChan<int>(1);
    AfterFunc(absl::ZeroDuration(), [ran, only = std::make_unique<int>(3)] { ran.Send(*only); });
    EXPECT_EQ(ran.Recv(), 3);
    AfterFuncTimer again = AfterFunc(absl::InfiniteDuration(), [ran, n = 0]() mutable {
      ran.Send(++n);
      return "what it returns is dropped";
    });
    for (int i = 1; i <= 3; ++i) {
      again.Reset(absl::ZeroDuration());
      EXPECT_EQ(ran.Recv(), i);
    }
    const std::function<void()> function = [ran] { ran.Send(5); };
    AfterFunc(absl::ZeroDuration(), function);
    EXPECT_EQ(ran.Recv(), 5);
    calls_by_pointer = 0;
    AfterFunc(absl::ZeroDuration(), CallByPointer);
    AfterFunc(absl::ZeroDuration(), &CallByPointer);
    EXPECT_TRUE(EventuallyTrue([] { return calls_by_pointer == 2; }));
  });
}

// What the function's clean-up throws is reported, also by a handler that waits.
TEST(AfterFuncShutdownTest, AFailureOfTheCleanUpIsReported) {
  const Watchdog watchdog;
  std::atomic<int> reports{0};
  csp::Run(
      [] {
        Event begun;
        AfterFunc(absl::ZeroDuration(), [&] {
          begun.Set();
          try {
            SleepFor(absl::InfiniteDuration());
          } catch (const Cancelled&) {
            throw std::runtime_error("clean-up");
          }
        });
        begun.Wait();
      },
      {.workers = 2, .on_panic = [&](const PanicReport& report) {
         EXPECT_EQ(report.what, "clean-up");
         SleepFor(absl::Microseconds(1));
         ++reports;
       }});
  EXPECT_EQ(reports, 1);
}

// ... and the function is destroyed in peace.
TEST(AfterFuncShutdownTest, TheFunctionsDestructorMayWait) {
  const Watchdog watchdog;
  struct Waits {
    explicit Waits(std::atomic<int>* e) : ended(e) {}
    Waits(Waits&& other) noexcept : ended(std::exchange(other.ended, nullptr)) {}
    ~Waits() {
      if (ended == nullptr) return;
      SleepFor(absl::Microseconds(1));
      ++*ended;
    }
    std::atomic<int>* ended;
  };
  std::atomic<int> ended{0};
  csp::Run(
      [&] {
        Event begun;
        AfterFunc(absl::ZeroDuration(), [&begun, waits = Waits(&ended)] {
          begun.Set();
          SleepFor(absl::InfiniteDuration());
        });
        begun.Wait();
      },
      {.workers = 2});
  EXPECT_EQ(ended, 1);
}

TEST_P(AfterFuncTest, StopAndResetSayWhichCame) {
  Here([] {
    std::mt19937 random(1);
    std::atomic<int> ran{0};
    int expected = 0;
    for (int i = 0; i < Rounds(2000); ++i) {
      AfterFuncTimer timer = AfterFunc(absl::Microseconds(random() % 40), [&] { ++ran; });
      for (int k = static_cast<int>(random() % 4); k > 0; --k) Yield();
      // Each time that it was still running counts for nothing, each other one for a run.
      if (random() % 2 == 0) expected += timer.Reset(absl::Microseconds(random() % 40)) ? 0 : 1;
      if (random() % 2 == 0) SleepFor(absl::Microseconds(random() % 40));
      expected += timer.Stop() ? 0 : 1;
    }
    EXPECT_TRUE(EventuallyTrue([&] { return ran == expected; })) << ran << " for " << expected;
  });
}

TEST_P(AfterFuncTest, RunsNeverOverlap) {
  Here([] {
    struct State {
      std::atomic<int> inside{0};
      std::atomic<int> runs{0};
      std::atomic<int> most{0};
    };
    auto state = std::make_shared<State>();
    AfterFuncTimer timer = AfterFunc(absl::ZeroDuration(), [state] {
      const int inside = ++state->inside;
      if (inside > state->most) state->most = inside;
      Yield();
      SleepFor(absl::Microseconds(20));
      --state->inside;
      ++state->runs;
    });
    int owed = 1;
    for (int i = 0; i < Rounds(300); ++i) {
      owed += timer.Reset(absl::ZeroDuration()) ? 0 : 1;
      if (i % 3 == 0) Yield();
    }
    EXPECT_TRUE(EventuallyTrue([&] { return state->runs == owed; }));
    EXPECT_EQ(state->most, 1);
  });
}

// E10: callbacks that stop, reset and destroy themselves and each other.
TEST_P(AfterFuncTest, CallbacksThatMeddle) {
  Here([] {
    constexpr int kTimers = 8;
    struct Shared {
      std::vector<Chan<AfterFuncTimer>> places;  // each holds a handle
      std::atomic<int> runs{0};
      std::atomic<int> inside{0};
      std::atomic<bool> over{false};

      std::optional<AfterFuncTimer> Take(std::uint32_t at) {
        std::optional<AfterFuncTimer> timer;
        (void)places[at % kTimers].TryRecv(timer);
        return timer;
      }
    };
    auto shared = std::make_shared<Shared>();
    for (int i = 0; i < kTimers; ++i) shared->places.push_back(MakeChan<AfterFuncTimer>(1));
    const auto meddle = [shared](std::uint32_t random) {
      std::optional<AfterFuncTimer> timer = shared->Take(random >> 8);
      if (!timer) return;
      if (random % 4 == 1) timer->Stop();
      if (random % 4 >= 2) timer->Reset(absl::Microseconds(random / 4 % 50));
      if (random % 16 != 0) (void)shared->places[(random >> 8) % kTimers].TrySend(*timer);
    };
    const auto start = [shared, meddle](std::uint32_t seed) {
      return AfterFunc(absl::Microseconds(seed % 50),
                       [shared, meddle, random = std::make_shared<std::mt19937>(seed)] {
                         ++shared->runs;
                         ++shared->inside;
                         if (!shared->over) meddle(static_cast<std::uint32_t>((*random)()));
                         --shared->inside;
                       });
    };
    Task<void> thread = BlockingDetached([&] {  // a plain thread meddles as well
      std::mt19937 random(99);
      while (!shared->over) meddle(static_cast<std::uint32_t>(random()));
    });
    std::mt19937 random(7);
    for (int i = 0; i < Rounds(20'000); ++i) {
      meddle(static_cast<std::uint32_t>(random()));
      (void)shared->places[i % kTimers].TrySend(start(static_cast<std::uint32_t>(random())));
      if (i % 8 == 0) Yield();
    }
    shared->over = true;
    thread.Join();
    // Who meddles still may put a handle back; a timer that lies there holds `shared`, and is held.
    ASSERT_TRUE(EventuallyTrue([&] { return shared->inside == 0; }));
    for (int i = 0; i < kTimers; ++i) {
      if (std::optional<AfterFuncTimer> timer = shared->Take(i)) timer->Stop();
    }
    EXPECT_GT(shared->runs, 0);
  });
}

TEST_P(AfterFuncTest, ACallbackMayDestroyItsOwnHandle) {
  Here([] {
    auto handle = std::make_shared<Chan<AfterFuncTimer>>(MakeChan<AfterFuncTimer>(1));
    const std::weak_ptr<Chan<AfterFuncTimer>> watch = handle;
    Event ran;
    AfterFuncTimer timer = AfterFunc(absl::Microseconds(50), [&ran, handle] {
      handle->Recv();  // the last handle, and with it perhaps this function's owner
      ran.Set();
    });
    handle->Send(timer);
    timer = {};
    handle.reset();
    ran.Wait();
    EXPECT_TRUE(EventuallyTrue([&] { return watch.expired(); }));
  });
}

TEST_P(AfterFuncTest, AFailureIsReportedAndTheTimerGoesOn) {
  Here([] {
    const Chan<std::string> told = MakeChan<std::string>(4);
    const PanicHandler previous =
        SetPanicHandler([told](const PanicReport& r) { told.Send(r.name + ": " + r.what); });
    AfterFuncTimer timer =
        AfterFunc(absl::ZeroDuration(), [] { throw std::runtime_error("late"); });
    EXPECT_EQ(told.Recv(), "AfterFunc: late");
    EXPECT_FALSE(timer.Reset(absl::ZeroDuration()));
    EXPECT_EQ(told.Recv(), "AfterFunc: late");
    SetPanicHandler(previous);
  });
}

TEST_P(AfterFuncTest, OneThatNeverRunsGoesWithItsLastHandle) {
  Here([] {
    auto owned = std::make_shared<std::atomic<int>>(0);
    const std::weak_ptr<std::atomic<int>> watch = owned;
    (void)AfterFunc(absl::InfiniteDuration(), [owned] { ++*owned; });
    AfterFuncTimer reset = AfterFunc(absl::ZeroDuration(), [owned] { ++*owned; });
    EXPECT_TRUE(EventuallyTrue([&] { return *owned == 1; }));
    EXPECT_FALSE(reset.Reset(absl::InfiniteDuration()));
    AfterFuncTimer stopped = AfterFunc(absl::InfiniteDuration(), [owned] { ++*owned; });
    EXPECT_TRUE(stopped.Stop());
    owned.reset();
    EXPECT_FALSE(watch.expired());
    reset = stopped = {};
    EXPECT_TRUE(EventuallyTrue([&] { return watch.expired(); }));  // one is on its way out
  });
}

// --- A timer may outlive the runtime in which it was armed last.

TEST(AfterFuncEndTest, MayBeUsedAfterItsRuntime) {
  const Watchdog watchdog;
  std::atomic<int> runs{0};
  const auto count = [&runs] { ++runs; };
  AfterFuncTimer fired;
  AfterFuncTimer stopped;
  AfterFuncTimer armed;
  const std::vector<AfterFuncTimer*> timers = {&fired, &stopped, &armed};
  csp::Run([&] {
    fired = AfterFunc(absl::ZeroDuration(), count);
    EXPECT_TRUE(EventuallyTrue([&] { return runs == 1; }));
    stopped = AfterFunc(absl::Hours(1), count);
    EXPECT_TRUE(stopped.Stop());
    armed = AfterFunc(absl::Hours(1), count);
  });
  for (AfterFuncTimer* timer : timers) EXPECT_FALSE(timer->Stop());
  for (AfterFuncTimer* timer : timers) EXPECT_FALSE(timer->Reset(absl::ZeroDuration()));
  EXPECT_TRUE(EventuallyTrue([&] { return runs == 4; }));  // in the default runtime
  csp::Run([&] {
    for (AfterFuncTimer* timer : timers) EXPECT_FALSE(timer->Reset(absl::Hours(1)));
    for (AfterFuncTimer* timer : timers) EXPECT_TRUE(timer->Reset(absl::ZeroDuration()));
    EXPECT_TRUE(EventuallyTrue([&] { return runs == 7; }));
  });
  for (AfterFuncTimer* timer : timers) EXPECT_FALSE(timer->Reset(absl::Hours(1)));
  for (AfterFuncTimer* timer : timers) EXPECT_TRUE(timer->Stop());
  EXPECT_EQ(runs, 7);
}

TEST(AfterFuncEndTest, OthersUseItWhileItsRuntimeEnds) {
  constexpr int kTimers = 4;
  const Watchdog watchdog;
  for (int round = 0; round < Rounds(400); ++round) {
    struct Counted {
      AfterFuncTimer timer;
      std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0);
    };
    Counted all[kTimers];
    std::atomic<bool> made{false};
    std::atomic<bool> over{false};
    std::thread other([&] {
      std::mt19937 random(round);
      while (!made) std::this_thread::yield();
      while (!over) {
        AfterFuncTimer& timer = all[random() % kTimers].timer;
        if (random() % 2 == 0) {
          timer.Stop();
        } else {
          timer.Reset(absl::Microseconds(random() % 30));
        }
      }
    });
    csp::Run(
        [&] {
          std::mt19937 random(round);
          for (Counted& one : all) {
            one.timer =
                AfterFunc(absl::Microseconds(random() % 30), [runs = one.runs] { ++*runs; });
          }
          made = true;
          SleepFor(absl::Microseconds(random() % 100));
          for (Counted& one : all) one.timer.Reset(absl::Microseconds(random() % 30));
        },
        {.workers = 1 + round % 2});
    over = true;
    other.join();
    for (Counted& one : all) {
      one.timer.Stop();
      const int before = *one.runs;
      one.timer.Reset(absl::ZeroDuration());
      ASSERT_TRUE(EventuallyTrue([&] { return *one.runs > before; }));
    }
  }
}

}  // namespace
}  // namespace csp
