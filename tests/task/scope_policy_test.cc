// How many tasks of a scope run at once, and what ends it before all have ended.
#include <atomic>
#include <exception>
#include <stdexcept>
#include <vector>

#include "csp/base/panic.h"
#include "csp/select/event.h"
#include "csp/select/shield.h"
#include "csp/task/go.h"
#include "csp/task/scope.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"
#include "tests/task/failures.h"

namespace csp {
namespace {

using ScopePolicyTest = RuntimeTest;
CSP_INSTANTIATE(ScopePolicyTest);

TEST_P(ScopePolicyTest, TheLimitHolds) {
  Here([] {
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<int> ran{0};
    WithScope({.limit = 3}, [&](Scope& s) {
      for (int i = 0; i < 50; ++i) {
        s.Go([&] {
          const int now = ++running;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          Yield();
          --running;
          ++ran;
        });
        EXPECT_LE(s.running(), 3U);
      }
    });
    EXPECT_EQ(ran, 50);
    EXPECT_LE(most, 3);
  });
}

TEST_P(ScopePolicyTest, TryGoRespectsTheLimit) {
  Here([] {
    Event go_on;
    WithScope({.limit = 1}, [&](Scope& s) {
      EXPECT_TRUE(s.TryGo([&] { go_on.Wait(); }));
      EXPECT_FALSE(s.TryGo([] { ADD_FAILURE(); }));
      go_on.Set();
      s.Join();
      EXPECT_TRUE(s.TryGo([] {}));
    });
  });
}

TEST_P(ScopePolicyTest, AFailureEndsAGoThatWaitsForItsTurn) {
  Here([] {
    ExpectFailure("first", [] {
      WithScope({.limit = 2}, [](Scope& s) {
        Event begun;
        s.Go(WaitForever);
        s.Go([&] {
          begun.Wait();
          Fail("first");
        });
        begun.Set();
        s.Go([] {});
        s.Go([] {});
        s.Go([] {});
        WaitForever();
      });
    });
  });
}

TEST_P(ScopePolicyTest, AnyEndsWithTheFirst) {
  Here([] {
    bool first = false;
    WithScope({.policy = ScopePolicy::kAny}, [&](Scope& s) {
      s.Go(WaitForever);
      s.Go([&] { first = true; });
      s.Go(WaitForever);
    });
    EXPECT_TRUE(first);
    ExpectFailure("first", [] {
      WithScope({.policy = ScopePolicy::kAny}, [](Scope& s) {
        s.Go(WaitForever);
        s.Go([] { Fail("first"); });
      });
    });
  });
}

TEST_P(ScopePolicyTest, FirstSuccessPassesOverFailures) {
  Here([] {
    bool returned = false;
    std::vector<std::exception_ptr> failures;
    WithScope({.policy = ScopePolicy::kFirstSuccess, .failures = &failures}, [&](Scope& s) {
      s.Go([] { Fail("one"); });
      s.Go([] { Fail("two"); });
      while (s.running() != 0) Yield();
      s.Go(WaitForever);
      s.Go([&] { returned = true; });
    });
    EXPECT_TRUE(returned);
    EXPECT_EQ(failures.size(), 2U);
    const PanicCount panics;
    EXPECT_THROW(WithScope({.policy = ScopePolicy::kFirstSuccess},
                           [](Scope& s) {
                             s.Go([] { Fail("one"); });
                             s.Go([] { Fail("two"); });
                           }),
                 std::runtime_error);
    EXPECT_EQ(panics.count(), 1);
  });
}

TEST_P(ScopePolicyTest, CollectLetsAllEnd) {
  Here([] {
    std::atomic<int> returned{0};
    std::vector<std::exception_ptr> failures;
    WithScope({.policy = ScopePolicy::kCollect, .failures = &failures}, [&](Scope& s) {
      for (int i = 0; i < 6; ++i) {
        s.Go([&, i] {
          Yield();
          if (i % 2 == 0) Fail("even");
          ++returned;
        });
      }
    });
    EXPECT_EQ(returned, 3);
    EXPECT_EQ(failures.size(), 3U);
    EXPECT_THROW(WithScope({.policy = ScopePolicy::kCollect}, [] {}), InvalidArgument);
  });
}

// Without its own failure the function would have to return something.
TEST_P(ScopePolicyTest, TheFunctionsFailureIsThrownUnderAnyPolicy) {
  Here([] {
    std::vector<std::exception_ptr> failures;
    for (const ScopePolicy policy : {ScopePolicy::kAll, ScopePolicy::kAny,
                                     ScopePolicy::kFirstSuccess, ScopePolicy::kCollect}) {
      ExpectFailure("body", [&] {
        WithScope({.policy = policy, .failures = &failures}, [](Scope& s) {
          s.Go([] {});
          while (s.running() != 0) {
            const Shield shield;
            Yield();
          }
          Fail("body");
        });
      });
    }
    EXPECT_EQ(failures.size(), 4U);
  });
}

// Its tasks have been cut short by what lies outside: it has not come to its end.
TEST_P(ScopePolicyTest, TasksCutShortFromOutsideAreNoSuccess) {
  Here([] {
    bool returned = false;
    WithScope([&](Scope& outer) {
      WithScope([&](Scope& inner) {
        outer.Cancel();
        inner.Go([] { ADD_FAILURE(); });
      });
      returned = true;
    });
    EXPECT_FALSE(returned);
  });
}

}  // namespace
}  // namespace csp
