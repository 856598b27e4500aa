// JoinAll and Race: typed results, failures, and nobody left behind.
#include "csp/task/join_all.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "csp/base/panic.h"
#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using JoinAllTest = RuntimeTest;
CSP_INSTANTIATE(JoinAllTest);

void WaitForever() { Event().Wait(); }

TEST_P(JoinAllTest, ResultsInOrder) {
  Here([] {
    auto [number, text, nothing, moved] = JoinAll(
        [] {
          Yield();
          return 1;
        },
        [] { return std::string("two"); }, [] {}, [] { return std::make_unique<int>(4); });
    static_assert(std::is_same_v<decltype(nothing), Unit>);
    EXPECT_EQ(number, 1);
    EXPECT_EQ(text, "two");
    EXPECT_EQ(*moved, 4);
    EXPECT_EQ(JoinAll(), std::tuple<>());
  });
}

TEST_P(JoinAllTest, TheFunctionsRunSideBySide) {
  Here([] {
    Event a;
    Event b;
    JoinAll(
        [&] {
          a.Set();
          b.Wait();
        },
        [&] {
          b.Set();
          a.Wait();
        });
  });
}

TEST_P(JoinAllTest, TheFirstFailureIsThrown) {
  Here([] {
    EXPECT_THROW(JoinAll(
                     WaitForever, [] { throw std::runtime_error("first"); }, WaitForever),
                 std::runtime_error);
    Yield();
  });
}

TEST_P(JoinAllTest, TheCallersCancellationGoesThrough) {
  Here([] {
    Event begun;
    Task<void> task = Go([&] {
      JoinAll(
          [&] {
            begun.Set();
            WaitForever();
          },
          WaitForever);
    });
    begun.Wait();
    task.Cancel();
    EXPECT_THROW(task.Join(), TaskCancelled);
  });
}

using RaceTest = RuntimeTest;
CSP_INSTANTIATE(RaceTest);

TEST_P(RaceTest, TheFirstWins) {
  Here([] {
    std::atomic<int> cancelled{0};
    const auto wait = [&] {
      try {
        WaitForever();
      } catch (const Cancelled&) {
        ++cancelled;
        throw;
      }
      return 0;
    };
    EXPECT_EQ(Race(
                  wait, [] { return 7; }, wait),
              7);
    EXPECT_LE(cancelled, 2);
    Yield();
  });
}

TEST_P(RaceTest, TheCommonType) {
  Here([] {
    const auto result = Race([] { return 1; },
                             [] {
                               WaitForever();
                               return 2.5;
                             });
    static_assert(std::is_same_v<decltype(result), const double>);
    EXPECT_EQ(result, 1.0);
    EXPECT_EQ(Race([] {}), Unit());
  });
}

TEST_P(RaceTest, AFailureMayBeTheFirst) {
  Here([] {
    EXPECT_THROW(Race([]() -> int { throw std::runtime_error("first"); },
                      [] {
                        WaitForever();
                        return 1;
                      }),
                 std::runtime_error);
  });
}

// The winner's value becomes one of the common type; that may fail, too.
TEST_P(RaceTest, AResultThatCannotBeKeptIsAFailure) {
  struct Refuses {
    operator std::string() const { throw std::length_error("too long"); }
  };
  Here([] {
    EXPECT_THROW(Race([] { return Refuses(); },
                      [] {
                        WaitForever();
                        return std::string();
                      }),
                 std::length_error);
  });
}

TEST_P(RaceTest, WhatLosersComeToCountsForNothing) {
  Here([] {
    EXPECT_EQ(Race([] { return 1; },
                   []() -> int {
                     try {
                       WaitForever();
                     } catch (const Cancelled&) {
                     }
                     throw std::runtime_error("too late");
                   }),
              1);
  });
}

TEST_P(RaceTest, EachHasAResult) {
  Here([] {
    for (int i = 0; i < Rounds(300); ++i) {
      const int won = Race([] { return 0; }, [] { return 1; }, [] { return 2; });
      ASSERT_GE(won, 0);
      ASSERT_LT(won, 3);
    }
  });
}

TEST_P(RaceTest, TheCallersCancellationGoesThrough) {
  Here([] {
    Event begun;
    Task<void> task = Go([&] {
      Race(
          [&] {
            begun.Set();
            WaitForever();
          },
          WaitForever);
    });
    begun.Wait();
    task.Cancel();
    EXPECT_THROW(task.Join(), TaskCancelled);
  });
}

}  // namespace
}  // namespace csp
