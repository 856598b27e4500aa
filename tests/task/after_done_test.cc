// AfterDone and StopOnDone: what is done once a token has been cancelled.
#include "csp/task/after_done.h"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "csp/base/panic.h"
#include "csp/cancel/cancel_source.h"
#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/task/panic_handler.h"
#include "csp/task/run.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using AfterDoneTest = RuntimeTest;
CSP_INSTANTIATE(AfterDoneTest);

TEST_P(AfterDoneTest, RunsAsATask) {
  Here([] {
    const CancelSource source;
    Event go_on;
    Event ran;
    AfterDoneHandle handle = AfterDone(
        source.token(),
        [&](int n) {
          EXPECT_EQ(n, 3);
          go_on.Wait();  // it may block
          ran.Set();
        },
        3);
    Yield();
    EXPECT_FALSE(ran.is_set());
    source.Cancel();
    go_on.Set();
    ran.Wait();
    EXPECT_FALSE(handle.Stop());
  });
}

TEST_P(AfterDoneTest, AtOnceIfCancelledBefore) {
  Here([] {
    const CancelSource source;
    source.Cancel();
    Event ran;
    AfterDone(source.token(), [&] { ran.Set(); });
    ran.Wait();
  });
}

TEST_P(AfterDoneTest, AStoppedOneDoesNotRun) {
  Here([] {
    const CancelSource source;
    auto counted = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = counted;
    AfterDoneHandle handle =
        AfterDone(source.token(), [counted = std::move(counted)] { ADD_FAILURE(); });
    EXPECT_TRUE(handle.Stop());
    EXPECT_TRUE(watch.expired());
    EXPECT_FALSE(handle.Stop());
    source.Cancel();
  });
}

// What can never be cancelled any more takes the function with it.
TEST_P(AfterDoneTest, IsDroppedWithTheLastSource) {
  Here([] {
    auto counted = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = counted;
    {
      const CancelSource source;
      AfterDone(source.token(), [counted = std::move(counted)] { ADD_FAILURE(); });
      EXPECT_FALSE(watch.expired());
    }
    EXPECT_TRUE(watch.expired());
    AfterDoneHandle never = AfterDone(CancelToken(), [] { ADD_FAILURE(); });
    EXPECT_FALSE(never.Stop());
  });
}

TEST_P(AfterDoneTest, WhatItThrowsGoesToThePanicHandler) {
  Here([] {
    std::atomic<int> panics{0};
    PanicHandler previous = SetPanicHandler([&](const PanicReport&) { ++panics; });
    const CancelSource source;
    AfterDone(source.token(), [] { throw std::runtime_error("after"); });
    source.Cancel();
    EXPECT_TRUE(EventuallyTrue([&] { return panics == 1; }));
    SetPanicHandler(std::move(previous));
  });
}

TEST_P(AfterDoneTest, StopRacesCancel) {
  Here([] {
    for (int i = 0; i < Rounds(300); ++i) {
      const CancelSource source;
      std::atomic<int> runs{0};
      AfterDoneHandle handle = AfterDone(source.token(), [&] { ++runs; });
      Task<void> canceller = Go([&] { source.Cancel(); });
      for (int k = 0; k < i % 3; ++k) Yield();
      const bool stopped = handle.Stop();
      canceller.Join();
      if (stopped) {
        ASSERT_EQ(runs, 0);
      } else {
        ASSERT_TRUE(EventuallyTrue([&] { return runs == 1; }));
      }
    }
  });
}

using StopOnDoneTest = RuntimeTest;
CSP_INSTANTIATE(StopOnDoneTest);

TEST_P(StopOnDoneTest, RequestsAStopWhereCallbacksMayBlock) {
  Here([] {
    const CancelSource source;
    std::stop_source stop;
    const StopOnDone link(source.token(), stop);
    Event go_on;
    Event called;
    std::stop_callback foreign(stop.get_token(), [&] {
      go_on.Wait();  // holds a thread of the pool, and no worker
      called.Set();
    });
    source.Cancel();
    Yield();
    EXPECT_TRUE(EventuallyTrue([&] { return stop.stop_requested(); }));
    go_on.Set();
    called.Wait();
  });
}

TEST_P(StopOnDoneTest, AtOnceIfCancelledBefore) {
  Here([] {
    const CancelSource source;
    source.Cancel();
    std::stop_source stop;
    const StopOnDone link(source.token(), stop);
    EXPECT_TRUE(EventuallyTrue([&] { return stop.stop_requested(); }));
  });
}

TEST_P(StopOnDoneTest, NotAfterTheLinkHasGone) {
  Here([] {
    const CancelSource source;
    std::stop_source stop;
    { const StopOnDone link(source.token(), stop); }
    source.Cancel();
    EXPECT_FALSE(stop.stop_requested());
  });
}

}  // namespace
}  // namespace csp
