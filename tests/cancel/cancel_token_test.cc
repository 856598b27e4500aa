// CancelToken: what it says, and how it is waited for.
#include "csp/cancel/cancel_token.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csp/base/panic.h"
#include "csp/cancel/cancel_source.h"
#include "csp/chan/chan.h"
#include "csp/sched/dump.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/go.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using CancelTokenTest = RuntimeTest;
CSP_INSTANTIATE(CancelTokenTest);

TEST_P(CancelTokenTest, TheDefaultIsNeverCancelled) {
  Here([] {
    const CancelToken never;
    EXPECT_FALSE(never.can_be_cancelled());
    EXPECT_FALSE(never.cancelled());
    EXPECT_TRUE(never.cause().ok());
    EXPECT_EQ(never.deadline(), absl::InfiniteFuture());
    EXPECT_THROW(never.Wait(), NoLiveCase);
    EXPECT_THROW(Select(never.OnDone() >> [] {}), NoLiveCase);
    EXPECT_EQ(Select(
                  never.OnDone() >> [] { return 1; }, Default >> [] { return 2; }),
              2);
  });
}

TEST_P(CancelTokenTest, Equality) {
  Here([] {
    const CancelSource a;
    const CancelSource b;
    EXPECT_EQ(a.token(), a.token());
    EXPECT_FALSE(a.token() == b.token());
    EXPECT_FALSE(a.token() == CancelToken());
    EXPECT_EQ(CancelToken(), CancelToken());
  });
}

TEST_P(CancelTokenTest, WaitReturnsOnceCancelled) {
  Here([] {
    const CancelSource source;
    int before = 0;
    std::vector<Task<int>> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.push_back(Go([&, token = source.token()] {
        token.Wait();
        return before;
      }));
    }
    Yield();
    before = 7;
    source.Cancel();
    for (Task<int>& waiter : waiters) EXPECT_EQ(waiter.Join(), 7);
    source.token().Wait();
  });
}

TEST_P(CancelTokenTest, OnDoneInASelect) {
  Here([] {
    const Chan<int> ch = MakeChan<int>();
    const CancelSource source;
    Task<int> task = Go([&, token = source.token()] {
      return Select(
          ch.OnRecv() >> [](std::optional<int>) { return 1; }, token.OnDone() >> [] { return 2; });
    });
    Yield();
    source.Cancel();
    EXPECT_EQ(task.Join(), 2);
    // It stays done, and one that loses leaves nothing behind.
    EXPECT_EQ(Select(
                  source.token().OnDone() >> [] { return 2; },
                  OnTimeout(absl::Hours(1)) >> [] { return 3; }),
              2);
  });
}

TEST_P(CancelTokenTest, ALoserLeavesNothingBehind) {
  Here([] {
    const CancelSource source;
    const Chan<int> ch = MakeChan<int>(1);
    for (int i = 0; i < 100; ++i) {
      Task<void> sender = Go([&] { ch.Send(1); });
      Select(
          ch.OnRecv() >> [](std::optional<int>) {},
          source.token().OnDone() >> [] { ADD_FAILURE(); });
      sender.Join();
    }
    EXPECT_TRUE(source.Cancel());
  });
}

// The event keeps what it needs.
TEST_P(CancelTokenTest, TheHandleMayGoWhileItIsWaitedFor) {
  Here([] {
    auto source = std::make_unique<CancelSource>();
    Event begun;
    Task<void> task = Go([&] {
      CancelToken token = source->token();
      begun.Set();
      CancelToken::DoneEvent done(token);
      token = CancelToken();
      Select(std::move(done) >> [] {});
    });
    begun.Wait();
    source->Cancel();
    source.reset();
    task.Join();
  });
}

TEST_P(CancelTokenTest, AWaitCanBeCancelledItself) {
  Here([] {
    const CancelSource source;
    Task<void> task = Go([&] { source.token().Wait(); });
    Yield();
    task.Cancel();
    EXPECT_THROW(task.Join(), TaskCancelled);
    EXPECT_FALSE(source.cancelled());
  });
}

TEST_P(CancelTokenTest, ADumpNamesTheWait) {
  Here([] {
    const CancelSource source;
    Task<void> task = Go([&] { source.token().Wait(); });
    const std::string parked = "fiber " + std::to_string(task.number()) + " parked in token Wait";
    EXPECT_TRUE(EventuallyTrue([&] { return DumpFibers().find(parked) != std::string::npos; }));
    source.Cancel();
    task.Join();
  });
}

}  // namespace
}  // namespace csp
