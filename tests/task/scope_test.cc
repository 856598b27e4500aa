// WithScope and Scope: nobody outlives the block, the first failure ends the others, and what is
// cancelled is the scope and nothing around it. (Design decision 9; the numbers are those of the
// field reports.)
#include "csp/task/scope.h"

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "csp/base/panic.h"
#include "csp/cancel/cancel_source.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/select/shield.h"
#include "csp/task/go.h"
#include "csp/task/panic_handler.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using ScopeTest = RuntimeTest;
CSP_INSTANTIATE(ScopeTest);

[[noreturn]] void Fail(const char* what) { throw std::runtime_error(what); }

void WaitForever() { Event().Wait(); }

template <class F>
void ExpectFailure(const char* what, F f) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), what);
  }
}

// Counts what the panic handler is told.
class PanicCount {
 public:
  PanicCount() {
    previous_ = SetPanicHandler([this](const PanicReport& report) {
      ++count_;
      last_ = report.what;
    });
  }
  ~PanicCount() { SetPanicHandler(std::move(previous_)); }
  int count() const { return count_; }
  const std::string& last() const { return last_; }

 private:
  PanicHandler previous_;
  std::atomic<int> count_{0};
  std::string last_;
};

TEST_P(ScopeTest, JoinsItsTasks) {
  Here([] {
    std::atomic<int> sum{0};
    const int result = WithScope([&](Scope& s) {
      for (int i = 1; i <= 10; ++i) {
        s.Go(
            [&](int k) {
              for (int n = 0; n < k; ++n) Yield();
              sum += k;
            },
            i);
      }
      return 7;
    });
    EXPECT_EQ(result, 7);
    EXPECT_EQ(sum, 55);
  });
}

// The frame outlives all that a task is made of, also its captures.
TEST_P(ScopeTest, ATaskIsGoneWhenTheScopeEnds) {
  Here([] {
    struct Touch {
      std::string* text;
      explicit Touch(std::string* t) : text(t) {}
      Touch(Touch&& other) noexcept : text(std::exchange(other.text, nullptr)) {}
      ~Touch() {
        if (text == nullptr) return;
        Yield();
        *text += "!";
      }
    };
    for (int i = 0; i < Rounds(100); ++i) {
      std::string text;
      WithScope([&](Scope& s) { s.Go([touch = Touch(&text)] { *touch.text += "a"; }); });
      ASSERT_EQ(text, "a!");
    }
  });
}

TEST_P(ScopeTest, TheFirstFailureCancelsTheOthersAndIsThrown) {  // G5
  Here([] {
    std::atomic<int> cancelled{0};
    ExpectFailure("first", [&] {
      WithScope([&](Scope& s) {
        for (int i = 0; i < 3; ++i) {
          s.Go([&] {
            try {
              WaitForever();
            } catch (const Cancelled&) {
              ++cancelled;
              throw;
            }
          });
        }
        // They wait by now, or will be cancelled before they do.
        for (int i = 0; i < 5; ++i) Yield();
        s.Go([] { Fail("first"); });
      });
    });
    EXPECT_LE(cancelled, 3);
    Yield();  // the caller is cancelled no longer
  });
}

TEST_P(ScopeTest, AFailureEndsTheFunction) {
  Here([] {
    bool unwound = false;
    ExpectFailure("child", [&] {
      WithScope([&](Scope& s) {
        s.Go([] { Fail("child"); });
        try {
          WaitForever();
        } catch (const Cancelled&) {
          unwound = true;
          throw;
        }
      });
    });
    EXPECT_TRUE(unwound);
  });
}

TEST_P(ScopeTest, TheFunctionsFailureCancelsTheTasks) {
  Here([] {
    ExpectFailure("body", [&] {
      WithScope([&](Scope& s) {
        s.Go(WaitForever);
        Yield();
        Fail("body");
      });
    });
  });
}

TEST_P(ScopeTest, AllFailuresCanBeHad) {
  Here([] {
    std::vector<std::exception_ptr> failures;
    ExpectFailure("0", [&] {
      WithScope({.failures = &failures}, [&](Scope& s) {
        for (int i = 1; i < 4; ++i) {
          s.Go([i] {
            try {
              WaitForever();
            } catch (const Cancelled&) {
            }
            Fail(std::to_string(i).c_str());
          });
        }
        while (s.running() < 3) Yield();
        for (int i = 0; i < 5; ++i) Yield();
        s.Go([] { Fail("0"); });
      });
    });
    ASSERT_GE(failures.size(), 1U);  // one that had not begun does not
    ExpectFailure("0", [&] { std::rethrow_exception(failures[0]); });
  });
}

TEST_P(ScopeTest, LaterFailuresGoToThePanicHandler) {
  Here([] {
    const PanicCount panics;
    ExpectFailure("body", [&] {
      WithScope([&](Scope& s) {
        Event begun;
        s.Go([&] {
          begun.Set();
          try {
            WaitForever();
          } catch (const Cancelled&) {
          }
          Fail("later");
        });
        begun.Wait();
        Fail("body");
      });
    });
    EXPECT_EQ(panics.count(), 1);
    EXPECT_EQ(panics.last(), "later");
  });
}

TEST_P(ScopeTest, WhatTheScopeRaisesEndsThere) {
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

TEST_P(ScopeTest, NothingBeginsInACancelledScope) {
  Here([] {
    WithScope([](Scope& s) {
      s.Cancel();
      s.Go([] { ADD_FAILURE(); });
      EXPECT_TRUE(s.TryGo([] { ADD_FAILURE(); }));
    });
  });
}

// The task's own cancellation goes on, after the children have been joined.
TEST_P(ScopeTest, TheTasksCancellationGoesThrough) {
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

TEST_P(ScopeTest, AnOuterScopesCancellationGoesThrough) {
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

TEST_P(ScopeTest, AnInnerScopesCancellationStaysInside) {
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

TEST_P(ScopeTest, ADeadlineIsThrown) {
  Here([] {
    EXPECT_THROW(WithTimeout(absl::Microseconds(100), WaitForever), DeadlineExceeded);
    EXPECT_THROW(WithDeadline(Now() + absl::Microseconds(100), WaitForever), DeadlineExceeded);
    EXPECT_THROW(
        WithScope({.timeout = absl::Microseconds(100)}, [](Scope& s) { s.Go(WaitForever); }),
        DeadlineExceeded);
    Yield();
  });
}

TEST_P(ScopeTest, WhatIsDoneInTimeIsDone) {
  Here([] {
    EXPECT_EQ(WithTimeout(absl::Hours(1), [] { return 3; }), 3);
    // Commit beats the deadline: nothing was cut short.
    EXPECT_EQ(WithTimeout(absl::ZeroDuration(), [] { return 4; }), 4);
  });
}

TEST_P(ScopeTest, AnOuterDeadlineIsTheOutersToThrow) {
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

TEST_P(ScopeTest, ATokenCancelsIt) {
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
TEST_P(ScopeTest, ATokenThatRunsOutCancelsItWithItsOwnCause) {
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

TEST_P(ScopeTest, TheLimitHolds) {
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

TEST_P(ScopeTest, TryGoRespectsTheLimit) {
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

TEST_P(ScopeTest, AFailureEndsAGoThatWaitsForItsTurn) {
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

TEST_P(ScopeTest, AnyEndsWithTheFirst) {
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

TEST_P(ScopeTest, FirstSuccessPassesOverFailures) {
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

TEST_P(ScopeTest, CollectLetsAllEnd) {
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
TEST_P(ScopeTest, TheFunctionsFailureIsThrownUnderAnyPolicy) {
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
TEST_P(ScopeTest, TasksCutShortFromOutsideAreNoSuccess) {
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

TEST_P(ScopeTest, ATaskMayStartOthers) {
  Here([] {
    std::atomic<int> leaves{0};
    WithScope([&](Scope& s) {
      std::function<void(int)> tree = [&](int depth) {
        if (depth == 0) {
          ++leaves;
          return;
        }
        s.Go(tree, depth - 1);
        s.Go(tree, depth - 1);
      };
      s.Go(std::ref(tree), 5);
      s.Join();  // `tree` stays until then
    });
    EXPECT_EQ(leaves, 32);
  });
}

TEST_P(ScopeTest, IsAnEvent) {
  Here([] {
    Event go_on;
    WithScope([&](Scope& s) {
      Select(s.OnIdle());
      s.Go([&] { go_on.Wait(); });
      EXPECT_EQ(Select(
                    s.OnIdle() >> [] { return 1; }, Default >> [] { return 2; }),
                2);
      go_on.Set();
      EXPECT_EQ(Select(
                    s.OnIdle() >> [] { return 1; }, OnTimeout(absl::Hours(1)) >> [] { return 2; }),
                1);
    });
  });
}

TEST_P(ScopeTest, APlainScopeCancelsItsTasksAlone) {
  Here([] {
    std::atomic<bool> ended{false};
    {
      Scope s;
      Event begun;
      s.Go([&] {
        begun.Set();
        try {
          WaitForever();
        } catch (const Cancelled&) {
          const Shield shield;
          Yield();
          ended = true;
        }
      });
      begun.Wait();
      s.Cancel();
      Yield();  // the owner goes on
    }
    EXPECT_TRUE(ended);
    {
      Scope s;
      s.Go(WaitForever);
    }
    Yield();
  });
}

TEST_P(ScopeTest, APlainScopeThrowsAtJoinOrTellsThePanicHandler) {
  Here([] {
    const PanicCount panics;
    {
      Scope s;
      s.Go([] { Fail("joined"); });
      ExpectFailure("joined", [&] { s.Join(); });
      s.Join();
    }
    EXPECT_EQ(panics.count(), 0);
    {
      Scope s;
      s.Go([] { Fail("unjoined"); });
      while (s.running() != 0) Yield();
    }
    EXPECT_EQ(panics.count(), 1);
    EXPECT_EQ(panics.last(), "unjoined");
  });
}

TEST_P(ScopeTest, APlainScopeBelongsToTheScopeAround) {
  Here([] {
    bool after = false;
    WithScope([&](Scope& outer) {
      Scope inner;
      inner.Go(WaitForever);
      outer.Cancel();
      EXPECT_TRUE(inner.token().cancelled());
      Yield();
      after = true;
    });
    EXPECT_FALSE(after);
  });
}

// A destructor joins, whatever is going on around it.
TEST_P(ScopeTest, IsJoinedWhileTheStackUnwinds) {
  Here([] {
    std::atomic<bool> ended{false};
    ExpectFailure("unwinds", [&] {
      Scope s;
      Event begun;
      s.Go([&] {
        begun.Set();
        try {
          WaitForever();
        } catch (const Cancelled&) {
          ended = true;
        }
      });
      begun.Wait();
      Fail("unwinds");
    });
    EXPECT_TRUE(ended);
  });
}

TEST(ScopeShutdownTest, ARunThatEndsUnwindsScopes) {
  std::atomic<int> ended{0};
  csp::Run([&] {
    Event begun;
    Go([&] {
      try {
        WithScope([&](Scope& s) {
          s.Go([&] {
            begun.Set();
            try {
              WaitForever();
            } catch (const Cancelled&) {
              ++ended;
            }
          });
        });
      } catch (const Cancelled&) {
        ++ended;
        throw;
      }
    });
    begun.Wait();
  });
  EXPECT_EQ(ended, 2);
}

// Ends in every way at once; whatever comes, all are joined and nobody is cancelled afterwards.
TEST_P(ScopeTest, Races) {
  Here([this] {
    const int rounds = Rounds(on_plain_thread() ? 100 : 600);
    for (int i = 0; i < rounds; ++i) {
      std::atomic<int> alive{0};
      struct Alive {
        std::atomic<int>& count;
        explicit Alive(std::atomic<int>& c) : count(c) { ++count; }
        ~Alive() { --count; }
      };
      const CancelSource source;
      const Task<void> canceller = Go([&] {
        for (int k = 0; k < i % 9; ++k) Yield();
        source.Cancel();
      });
      const Chan<int> ch = MakeChan<int>();
      try {
        WithScope({.token = source.token(), .timeout = absl::Microseconds(i % 100)}, [&](Scope& s) {
          for (int k = 0; k < 4; ++k) {
            s.Go([&, k] {
              const Alive one(alive);
              for (int n = 0; n < 3; ++n) k % 2 == 0 ? ch.Send(1) : (void)ch.Recv();
              if ((i + k) % 5 == 0) Fail("race");
            });
          }
        });
      } catch (const std::runtime_error&) {
      }
      ASSERT_EQ(alive, 0);
      Yield();
      while (!canceller.done()) Yield();
    }
  });
}

}  // namespace
}  // namespace csp
