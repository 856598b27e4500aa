// The latched event: once set it stays set, for who waits now and who comes later.

#include "csp/select/event.h"

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

using EventTest = RuntimeTest;
CSP_INSTANTIATE(EventTest);

TEST_P(EventTest, SetBeforeWait) {
  Here([] {
    Event event;
    EXPECT_FALSE(event.is_set());
    event.Set();
    EXPECT_TRUE(event.is_set());
    event.Wait();
    event.Set();  // nothing
    event.Wait();
    Select(event.OnWait());
  });
}

TEST_P(EventTest, SetWakesAllWhoWait) {
  Here([] {
    for (int round = 0; round < Rounds(100); ++round) {
      Event event;
      std::atomic<int> started{0};
      int prepared = 0;
      std::vector<Task<void>> waiters;
      for (int i = 0; i < 20; ++i) {
        waiters.push_back(Go([&, i] {
          ++started;
          if (i % 2 == 0) {
            event.Wait();
          } else {
            Select(
                event.OnWait(), OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
          }
          EXPECT_EQ(prepared, 42);  // what was written before Set is visible
        }));
      }
      while (started.load() < (round % 2 == 0 ? 20 : 5)) Yield();
      prepared = 42;
      event.Set();
      for (auto& waiter : waiters) waiter.Join();
    }
  });
}

TEST_P(EventTest, ResetMakesItWaitAgain) {
  Here([] {
    Event event;
    for (int round = 0; round < Rounds(500); ++round) {
      Task<void> setter = Go([&] { event.Set(); });
      event.Wait();
      setter.Join();
      event.Reset();
      EXPECT_FALSE(event.is_set());
      bool none = false;
      Select(
          event.OnWait() >> [] { ADD_FAILURE(); }, Default >> [&] { none = true; });
      EXPECT_TRUE(none);
    }
  });
}

TEST_P(EventTest, WaitsUpToALimit) {
  Here([] {
    Event event;
    EXPECT_FALSE(event.WaitFor(absl::ZeroDuration()));
    EXPECT_FALSE(event.WaitFor(absl::Microseconds(50)));
    EXPECT_FALSE(event.WaitUntil(absl::InfinitePast()));
    Task<void> setter = Go([&] { event.Set(); });
    EXPECT_TRUE(event.WaitFor(absl::Hours(1)));
    EXPECT_TRUE(event.WaitUntil(absl::InfinitePast()));  // what is set wins over the limit
    setter.Join();
  });
}

// It may be destroyed as soon as a Wait has returned, even while Set still is on its way out.
TEST_P(EventTest, MayBeDestroyedByWhomItWoke) {
  Here([] {
    for (int round = 0; round < Rounds(2'000); ++round) {
      auto event = std::make_unique<Event>();
      Task<void> setter = Go([raw = event.get()] { raw->Set(); });
      if (round % 2 == 0) {
        event->Wait();
      } else {
        Select(event->OnWait());
      }
      event.reset();
      setter.Join();
    }
  });
}

TEST_P(EventTest, SeveralInOneSelect) {
  Here([] {
    for (int round = 0; round < Rounds(500); ++round) {
      Event events[3];
      const int which = round % 3;
      Task<void> setter = Go([&] { events[which].Set(); });
      const int won = Select(
          events[0].OnWait() >> [] { return 0; }, events[1].OnWait() >> [] { return 1; },
          events[2].OnWait() >> [] { return 2; });
      EXPECT_EQ(won, which);
      setter.Join();
    }
  });
}

TEST_P(EventTest, FromAndForPlainThreads) {
  Here([] {
    Event to_thread, to_fiber;
    std::thread thread([&] {
      to_thread.Wait();
      to_fiber.Set();
    });
    to_thread.Set();
    to_fiber.Wait();
    thread.join();
  });
}

}  // namespace
}  // namespace csp
