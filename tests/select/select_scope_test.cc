// A select that names the token of its own scope: the case stands for the cancellation.

#include <atomic>
#include <optional>
#include <utility>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelectScopeTest = RuntimeTest;
CSP_INSTANTIATE(SelectScopeTest);

constexpr auto kIgnore = [](const auto&...) {};

enum class Told { kByTheCase, kByAValue };

// Selects on what never comes and on `token`.
Told SelectOn(const CancelToken& token, const Chan<int>& ch = MakeChan<int>()) {
  return Select(
      ch.OnRecv() >> [](std::optional<int>) { return Told::kByAValue; },
      token.OnDone() >> [] { return Told::kByTheCase; });
}

TEST_P(SelectScopeTest, TheCaseTells) {
  Here([] {
    WithScope([](Scope& s) {
      s.Cancel();
      for (int i = 0; i < 3; ++i) {  // it stays so
        EXPECT_EQ(SelectOn(s.token()), Told::kByTheCase);
        EXPECT_EQ(PriSelect(
                      OnTimeout(absl::Hours(1)) >> [] { return 1; },
                      s.token().OnDone() >> [] { return 2; }),
                  2);
        Select(s.token().OnDone());
      }
      // Nothing else that waits is spared.
      EXPECT_THROW(Select(MakeChan<int>().OnRecv() >> kIgnore), Cancelled);
      EXPECT_THROW(Yield(), Cancelled);
      EXPECT_THROW(s.token().Wait(), Cancelled);
    });
  });
}

// On its way to the wait, in it, after it.
TEST_P(SelectScopeTest, AtAnyMoment) {
  Here([] {
    for (int round = 0; round < Rounds(500); ++round) {
      WithScope([&](Scope& s) {
        Task<void> canceller = Go([&] {
          for (int i = 0; i < round % 5; ++i) Yield();
          s.Cancel();
        });
        EXPECT_EQ(SelectOn(s.token()), Told::kByTheCase);
        const Shield shield;
        canceller.Join();
      });
    }
  });
}

TEST_P(SelectScopeTest, ToATaskOfTheScope) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      std::atomic<int> told{0}, begun{0};
      WithScope([&](Scope& s) {
        for (int i = 0; i < 3; ++i) {
          s.Go([&] {
            ++begun;
            if (SelectOn(s.token()) == Told::kByTheCase) ++told;
          });
        }
        for (int i = 0; i < round % 7; ++i) Yield();
        s.Cancel();
      });
      ASSERT_EQ(told.load(), begun.load());
    }
  });
}

TEST_P(SelectScopeTest, ADeadlineIsACancellation) {
  Here([] {
    WithTimeout(absl::Microseconds(100),
                [](Scope& s) { EXPECT_EQ(SelectOn(s.token()), Told::kByTheCase); });
  });
}

// Whatever cancels the scope is that event; so are the scopes around.
TEST_P(SelectScopeTest, ACancellationFromFurtherOut) {
  Here([] {
    for (int round = 0; round < Rounds(500); ++round) {
      WithScope([&](Scope& outer) {
        Task<void> canceller = Go([&] {
          for (int i = 0; i < round % 5; ++i) Yield();
          outer.Cancel();
        });
        EXPECT_THROW(WithScope([&](Scope& inner) {
                       EXPECT_EQ(SelectOn(inner.token()), Told::kByTheCase);
                       EXPECT_THROW((void)SelectOn(outer.token()), Cancelled);
                       throw Cancelled();
                     }),
                     Cancelled);
        const Shield shield;
        canceller.Join();
      });
    }
  });
}

TEST_P(SelectScopeTest, OnlyItsOwnToken) {
  Here([] {
    const CancelSource other;
    WithScope([&](Scope& s) {
      s.Cancel();
      other.Cancel();
      EXPECT_THROW((void)SelectOn(other.token()), Cancelled);
      EXPECT_THROW((void)SelectOn(CancelToken()), Cancelled);
      // A case that takes no part says nothing.
      EXPECT_THROW(Select(When(false, s.token().OnDone()), MakeChan<int>().OnRecv() >> kIgnore),
                   Cancelled);
    });
  });
}

// The task's own cancellation is none of the scope's.
TEST_P(SelectScopeTest, ATaskThatIsCancelledIsTold) {
  Here([] {
    for (int round = 0; round < Rounds(300); ++round) {
      std::atomic<bool> begun{false};
      Task<void> task = Go([&] {
        WithScope([&](Scope& s) {
          if (round % 2 == 0) s.Cancel();
          begun = true;
          while (SelectOn(s.token()) == Told::kByTheCase) {
            const Shield shield;
            Yield();
          }
        });
      });
      while (!begun.load()) Yield();
      for (int i = 0; i < round % 4; ++i) Yield();
      task.Cancel();
      EXPECT_THROW(task.Join(), TaskCancelled);
    }
  });
}

// A value or the cancellation, never both and never an exception.
TEST_P(SelectScopeTest, CommitBeatsCancel) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto ch = MakeChan<int>(round % 2);
      int received = 0;
      Task<bool> sender = Go([&, ch] { return ch.SendFor(absl::Hours(1), 1); });
      WithScope([&](Scope& s) {
        Task<void> canceller = Go([&] {
          for (int i = 0; i < round % 3; ++i) Yield();
          s.Cancel();
        });
        if (SelectOn(s.token(), ch) == Told::kByAValue) ++received;
        const Shield shield;
        canceller.Join();
      });
      if (received == 0) {
        EXPECT_EQ(ch.Recv(), 1);
      }
      EXPECT_TRUE(sender.Join());
      std::optional<int> more;
      ASSERT_FALSE(ch.TryRecv(more));
    }
  });
}

}  // namespace
}  // namespace csp
