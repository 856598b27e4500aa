// CancelCallback: it is called or it was stopped, and whoever stops it knows which.
#include "csp/cancel/cancel_callback.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "csp/cancel/cancel_source.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/go.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using CancelCallbackTest = RuntimeTest;
CSP_INSTANTIATE(CancelCallbackTest);

TEST_P(CancelCallbackTest, IsCalledByTheCanceller) {
  Here([] {
    const CancelSource source;
    int calls = 0;
    CancelCallback callback(source.token(), [&]() noexcept {
      ++calls;
      EXPECT_TRUE(source.cancelled());
      EXPECT_EQ(source.token().cause(), absl::AbortedError("why"));
    });
    EXPECT_EQ(calls, 0);
    source.Cancel(absl::AbortedError("why"));
    EXPECT_EQ(calls, 1);
    source.Cancel();
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(callback.Stop());
    EXPECT_FALSE(callback.Stop());
  });
}

TEST_P(CancelCallbackTest, IsCalledAtOnceIfCancelledBefore) {
  Here([] {
    const CancelSource source;
    source.Cancel();
    int calls = 0;
    CancelCallback callback(source.token(), [&]() noexcept { ++calls; });
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(callback.Stop());
  });
}

TEST_P(CancelCallbackTest, AStoppedOneIsNotCalled) {
  Here([] {
    const CancelSource source;
    CancelCallback stopped(source.token(), []() noexcept { ADD_FAILURE(); });
    EXPECT_TRUE(stopped.Stop());
    EXPECT_TRUE(stopped.Stop());
    {
      CancelCallback gone(source.token(), []() noexcept { ADD_FAILURE(); });
    }
    CancelCallback never(CancelToken(), []() noexcept { ADD_FAILURE(); });
    source.Cancel();
    EXPECT_TRUE(never.Stop());
  });
}

TEST_P(CancelCallbackTest, InTheOrderOfRegistrationAndParentsFirst) {
  Here([] {
    const CancelSource root;
    const CancelSource child(root.token());
    std::string order;
    CancelCallback c1(child.token(), [&]() noexcept { order += "c"; });
    CancelCallback r1(root.token(), [&]() noexcept { order += "1"; });
    CancelCallback r2(root.token(), [&]() noexcept { order += "2"; });
    CancelCallback c2(child.token(), [&]() noexcept { order += "d"; });
    root.Cancel();
    EXPECT_EQ(order, "12cd");
  });
}

// All below is cancelled, and who waits is woken, before the first is called.
TEST_P(CancelCallbackTest, ComesAfterTheWholeTreeIsSet) {
  Here([] {
    const CancelSource root;
    std::vector<CancelSource> below;
    for (int i = 0; i < 10; ++i) {
      below.emplace_back((below.empty() ? root : below.back()).token());
    }
    bool called = false;
    CancelCallback callback(root.token(), [&]() noexcept {
      called = true;
      for (const CancelSource& source : below) EXPECT_TRUE(source.cancelled());
    });
    root.Cancel();
    EXPECT_TRUE(called);
  });
}

// F4: callbacks wake the other side, deregister themselves and others, and end what they belong to.
TEST_P(CancelCallbackTest, MayDoWhatDoesNotSuspend) {
  Here([] {
    const CancelSource source;
    const CancelSource other(source.token());
    const Chan<int> ch = MakeChan<int>(1);
    Event event;
    CancelCallback callback(source.token(), [&]() noexcept {
      EXPECT_TRUE(ch.TrySend(1));
      ch.Close();
      event.Set();
      other.Cancel();
      EXPECT_FALSE(source.Cancel());
      EXPECT_FALSE(CancelSource(source.token()).Cancel());
      CancelCallback late(source.token(), [&]() noexcept { Go([] { Yield(); }); });
    });
    source.Cancel();
    event.Wait();
    EXPECT_EQ(ch.Recv(), 1);
  });
}

TEST_P(CancelCallbackTest, StopsItself) {
  Here([] {
    const CancelSource source;
    bool called = false;
    std::function<bool()> stop;
    CancelCallback callback(source.token(), [&]() noexcept {
      called = true;
      EXPECT_FALSE(stop());
    });
    stop = [&] { return callback.Stop(); };
    source.Cancel();
    EXPECT_TRUE(called);
    EXPECT_FALSE(callback.Stop());
  });
}

struct DestroySelf {
  std::unique_ptr<CancelCallback<DestroySelf>>* self;
  int* calls;
  void operator()() noexcept {
    ++*calls;
    self->reset();
  }
};

TEST_P(CancelCallbackTest, DestroysItself) {
  Here([] {
    const CancelSource source;
    int calls = 0;
    std::unique_ptr<CancelCallback<DestroySelf>> callback;
    callback = std::make_unique<CancelCallback<DestroySelf>>(source.token(),
                                                             DestroySelf{&callback, &calls});
    CancelCallback next(source.token(), [&]() noexcept { ++calls; });
    source.Cancel();
    EXPECT_EQ(callback, nullptr);
    EXPECT_EQ(calls, 2);
  });
}

TEST_P(CancelCallbackTest, StopsTheNextOne) {
  Here([] {
    const CancelSource source;
    std::function<bool()> stop;
    CancelCallback first(source.token(), [&]() noexcept { EXPECT_TRUE(stop()); });
    CancelCallback second(source.token(), []() noexcept { ADD_FAILURE(); });
    stop = [&] { return second.Stop(); };
    source.Cancel();
  });
}

// The handles may go while the callback runs.
TEST_P(CancelCallbackTest, DestroysItsSource) {
  Here([] {
    auto source = std::make_unique<CancelSource>();
    CancelToken token = source->token();
    bool called = false;
    CancelCallback callback(token, [&]() noexcept {
      source.reset();
      token = CancelToken();
      called = true;
    });
    const CancelSource copy = std::move(*source);
    copy.Cancel();
    EXPECT_TRUE(called);
  });
}

// F7: who stops it while it is being called elsewhere waits until that is over.
TEST_P(CancelCallbackTest, StopWaitsForACallInProgress) {
  Here([] {
    const CancelSource source;
    std::atomic<bool> inside{false};
    std::atomic<bool> go_on{false};
    std::atomic<bool> returned{false};
    CancelCallback callback(source.token(), [&]() noexcept {
      inside = true;
      while (!go_on) std::this_thread::yield();
      returned = true;
    });
    std::thread canceller([&] { source.Cancel(); });
    while (!inside) std::this_thread::yield();
    std::thread helper([&] { go_on = true; });
    EXPECT_FALSE(callback.Stop());
    EXPECT_TRUE(returned);
    helper.join();
    canceller.join();
  });
}

// F7: never called after Stop has said that it was not, always called otherwise.
TEST_P(CancelCallbackTest, StopRacesCancel) {
  Here([this] {
    const int rounds = Rounds(on_plain_thread() ? 300 : 3000);
    int won[2] = {};
    for (int i = 0; i < rounds; ++i) {
      const CancelSource source;
      const CancelSource child(source.token());
      Task<void> canceller = Go([&] {
        for (int k = 0; k < i % 3; ++k) Yield();
        source.Cancel();
      });
      for (int k = 0; k < i % 4; ++k) Yield();
      std::atomic<int> calls{0};
      bool stopped;
      {
        CancelCallback callback(child.token(), [&]() noexcept { ++calls; });
        if (i % 2 == 0) Yield();
        stopped = callback.Stop();
        ASSERT_EQ(calls, stopped ? 0 : 1);
      }
      canceller.Join();
      ASSERT_EQ(calls, stopped ? 0 : 1);
      ++won[stopped ? 1 : 0];
    }
    if (workers() == 1) {
      EXPECT_GT(won[0], 0);
      EXPECT_GT(won[1], 0);
    }
  });
}

// F4: two fibers, each with a callback that signals the other's event; two tokens cancelled by two.
TEST_P(CancelCallbackTest, CallbacksWakeEachOther) {
  Here([this] {
    const int rounds = Rounds(on_plain_thread() ? 200 : 1500);
    for (int i = 0; i < rounds; ++i) {
      const CancelSource sources[2];
      Event events[2];
      std::vector<Task<void>> tasks;
      for (int me = 0; me < 2; ++me) {
        tasks.push_back(Go([&, me] {
          CancelCallback callback(sources[me].token(),
                                  [&, me]() noexcept { events[1 - me].Set(); });
          events[me].Wait();
          if (callback.Stop()) events[1 - me].Set();
        }));
        tasks.push_back(Go([&, me] { sources[me].Cancel(); }));
      }
      for (Task<void>& task : tasks) task.Join();
    }
  });
}

}  // namespace
}  // namespace csp
