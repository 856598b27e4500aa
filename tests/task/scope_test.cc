// WithScope and Scope: nobody outlives the block, and the first failure ends the others. (Design
// decision 9; the numbers are those of the field reports.) scope_cancel_test.cc: what cancels a
// scope; scope_policy_test.cc: limits and policies.
#include "csp/task/scope.h"

#include <atomic>
#include <exception>
#include <functional>
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
#include "tests/task/failures.h"

namespace csp {
namespace {

using ScopeTest = RuntimeTest;
CSP_INSTANTIATE(ScopeTest);

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
