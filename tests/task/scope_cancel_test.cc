// What cancels a scope, and what it does not cancel: the scope ends, and nothing around it.
#include <atomic>

#include "csp/base/panic.h"
#include "csp/cancel/cancel_source.h"
#include "csp/select/event.h"
#include "csp/select/shield.h"
#include "csp/task/go.h"
#include "csp/task/scope.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"
#include "tests/task/failures.h"

namespace csp {
namespace {

using ScopeCancelTest = RuntimeTest;
CSP_INSTANTIATE(ScopeCancelTest);

TEST_P(ScopeCancelTest, WhatTheScopeRaisesEndsThere) {
  Here([] {
    bool after = false;
    WithScope([&](Scope& s) {
      s.Cancel();
      Yield();
      after = true;
    });
    EXPECT_FALSE(after);
    Yield();
    EXPECT_THROW(WithScope([](Scope& s) {
                   s.Cancel();
                   Yield();
                   return 1;
                 }),
                 TaskCancelled);
    EXPECT_EQ(WithScope([](Scope& s) {
                s.Cancel();
                return 1;
              }),
              1);
  });
}

TEST_P(ScopeCancelTest, NothingBeginsInACancelledScope) {
  Here([] {
    WithScope([](Scope& s) {
      s.Cancel();
      s.Go([] { ADD_FAILURE(); });
      EXPECT_TRUE(s.TryGo([] { ADD_FAILURE(); }));
    });
  });
}

// The task's own cancellation goes on, after the children have been joined.
TEST_P(ScopeCancelTest, TheTasksCancellationGoesThrough) {
  Here([] {
    Event begun;
    std::atomic<bool> child_ended{false};
    bool went_on = false;
    Task<void> task = Go([&] {
      try {
        WithScope([&](Scope& s) {
          s.Go([&] {
            begun.Set();
            try {
              WaitForever();
            } catch (const Cancelled&) {
              const Shield shield;
              for (int i = 0; i < 10; ++i) Yield();
              child_ended = true;
            }
          });
        });
      } catch (const Cancelled&) {
        went_on = true;
        EXPECT_TRUE(child_ended);
        throw;
      }
    });
    begun.Wait();
    task.Cancel();
    EXPECT_THROW(task.Join(), TaskCancelled);
    EXPECT_TRUE(went_on);
  });
}

TEST_P(ScopeCancelTest, AnOuterScopesCancellationGoesThrough) {
  Here([] {
    bool inner_returned = false;
    bool outer_returned = false;
    WithScope([&](Scope& outer) {
      WithScope([&](Scope& inner) {
        inner.Go(WaitForever);
        outer.Cancel();
        WaitForever();
      });
      inner_returned = true;
    });
    outer_returned = true;
    EXPECT_FALSE(inner_returned);
    EXPECT_TRUE(outer_returned);
  });
}

TEST_P(ScopeCancelTest, AnInnerScopesCancellationStaysInside) {
  Here([] {
    bool reached = false;
    WithScope([&](Scope& outer) {
      outer.Go([&] {
        for (int i = 0; i < 20; ++i) Yield();
      });
      WithScope([&](Scope& inner) {
        inner.Go(WaitForever);
        inner.Cancel();
        Yield();
      });
      Yield();
      EXPECT_FALSE(outer.token().cancelled());
      reached = true;
    });
    EXPECT_TRUE(reached);
  });
}

TEST_P(ScopeCancelTest, ADeadlineIsThrown) {
  Here([] {
    EXPECT_THROW(WithTimeout(absl::Microseconds(100), WaitForever), DeadlineExceeded);
    EXPECT_THROW(WithDeadline(Now() + absl::Microseconds(100), WaitForever), DeadlineExceeded);
    EXPECT_THROW(
        WithScope({.timeout = absl::Microseconds(100)}, [](Scope& s) { s.Go(WaitForever); }),
        DeadlineExceeded);
    Yield();
  });
}

TEST_P(ScopeCancelTest, WhatIsDoneInTimeIsDone) {
  Here([] {
    EXPECT_EQ(WithTimeout(absl::Hours(1), [] { return 3; }), 3);
    // Commit beats the deadline: nothing was cut short.
    EXPECT_EQ(WithTimeout(absl::ZeroDuration(), [] { return 4; }), 4);
  });
}

TEST_P(ScopeCancelTest, AnOuterDeadlineIsTheOutersToThrow) {
  Here([] {
    bool inner_threw = false;
    EXPECT_THROW(WithTimeout(absl::Microseconds(200),
                             [&] {
                               try {
                                 WithTimeout(absl::Hours(1), WaitForever);
                               } catch (const DeadlineExceeded&) {
                                 inner_threw = true;
                               }
                             }),
                 DeadlineExceeded);
    EXPECT_FALSE(inner_threw);
  });
}

TEST_P(ScopeCancelTest, ATokenCancelsIt) {
  Here([] {
    const CancelSource source;
    const Task<void> canceller = Go([&] { source.Cancel(absl::AbortedError("token")); });
    absl::Status cause;
    WithScope({.token = source.token()}, [&](Scope& s) {
      try {
        WaitForever();
      } catch (const Cancelled&) {
        cause = s.token().cause();
        throw;
      }
    });
    EXPECT_EQ(cause, absl::AbortedError("token"));
    Yield();
  });
}

// The scope has a timer of its own for that moment.
TEST_P(ScopeCancelTest, ATokenThatRunsOutCancelsItWithItsOwnCause) {
  Here([] {
    for (int i = 0; i < Rounds(100); ++i) {
      const CancelSource source({.timeout = absl::Microseconds(100),
                                 .deadline_cause = absl::UnavailableError("too slow")});
      absl::Status cause;
      const auto wait = [&](Scope& s) {
        EXPECT_EQ(s.token().deadline(), source.token().deadline());
        try {
          WaitForever();
        } catch (const Cancelled&) {
          cause = s.token().cause();
          throw;
        }
        return 1;
      };
      EXPECT_THROW(WithScope({.token = source.token(), .timeout = absl::Hours(1)}, wait),
                   TaskCancelled);
      ASSERT_EQ(cause, absl::UnavailableError("too slow"));
    }
  });
}

}  // namespace
}  // namespace csp
