// Select: which case is taken, what a case that is not taken leaves, what handlers may do, and what
// comes out.

#include "csp/select/select.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "csp/base/random.h"
#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/chan/counted.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelectTest = RuntimeTest;
CSP_INSTANTIATE(SelectTest);

constexpr auto kIgnore = [](const auto&...) {};
// A handler that says which case it was.
constexpr auto Says(int which) {
  return [which](const auto&...) { return which; };
}

Chan<int> ReadyChan() {
  auto ch = MakeChan<int>(1);
  ch.Send(0);
  return ch;
}

// --- Choice. (Decision 10.)

// Pearson's statistic against equal shares.
double ChiSquare(const std::vector<int>& counts) {
  double total = 0;
  for (int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// The largest value of the statistic that chance exceeds in one of 10,000 runs. With the seed fixed
// there is no chance in it.
constexpr double kOneDegree = 15.14, kThreeDegrees = 21.11;

class SelectChoiceTest : public testing::Test {
 protected:
  void SetUp() override { internal::SetRandomSeed(20240229); }
};

// A random start and then in turn would give 1/3 : 2/3.
TEST_F(SelectChoiceTest, IsUniformAmongTheReady) {
  RunAt({1}, [] {
    auto a = ReadyChan(), never = MakeChan<int>(), b = ReadyChan();
    std::vector<int> won(3);
    for (int i = 0; i < 20'000; ++i) {
      const int which =
          Select(a.OnRecv() >> Says(0), never.OnRecv() >> Says(1), b.OnRecv() >> Says(2));
      ++won[static_cast<std::size_t>(which)];
      (which == 0 ? a : b).Send(0);
    }
    EXPECT_EQ(won[1], 0);
    EXPECT_LT(ChiSquare({won[0], won[2]}), kOneDegree) << won[0] << " : " << won[2];
  });
}

TEST_F(SelectChoiceTest, IsUniformWhereverTheReadyOnesStand) {
  RunAt({1}, [] {
    auto a = ReadyChan(), b = ReadyChan(), c = ReadyChan(), d = ReadyChan();
    auto never = MakeChan<int>();
    Chan<int> nil;
    std::vector<int> won(4);
    for (int i = 0; i < 20'000; ++i) {
      const int which = Select(a.OnRecv() >> Says(0), b.OnRecv() >> Says(1),
                               never.OnRecv() >> Says(9), nil.OnRecv() >> Says(9),
                               When(false, a.OnRecv() >> Says(9)), never.OnSend(1) >> Says(9),
                               c.OnRecv() >> Says(2), OnTimeout(absl::Hours(1)) >> Says(9),
                               never.OnRecv() >> Says(9), d.OnRecv() >> Says(3));
      ASSERT_LT(which, 4);
      ++won[static_cast<std::size_t>(which)];
      (which == 0 ? a : which == 1 ? b : which == 2 ? c : d).Send(0);
    }
    EXPECT_LT(ChiSquare(won), kThreeDegrees);
  });
}

TEST_F(SelectChoiceTest, SendsAndReceivesAreEqual) {
  RunAt({1}, [] {
    auto full = ReadyChan(), empty = MakeChan<int>(1);
    std::vector<int> won(2);
    for (int i = 0; i < 20'000; ++i) {
      const int which = Select(full.OnRecv() >> Says(0), empty.OnSend(1) >> Says(1));
      ++won[static_cast<std::size_t>(which)];
      if (which == 0) full.Send(0);
      if (which == 1) (void)empty.Recv();
    }
    EXPECT_LT(ChiSquare(won), kOneDegree);
  });
}

// Decision 11, D9: the stop signal wins over a full data channel, always.
TEST_P(SelectTest, PriSelectTakesTheFirstReady) {
  Here([] {
    auto stop = ReadyChan(), data = ReadyChan(), never = MakeChan<int>();
    for (int i = 0; i < Rounds(100'000); ++i) {
      ASSERT_EQ(
          PriSelect(never.OnRecv() >> Says(0), stop.OnRecv() >> Says(1), data.OnRecv() >> Says(2)),
          1);
      stop.Send(0);
    }
    (void)stop.Recv();
    EXPECT_EQ(
        PriSelect(never.OnRecv() >> Says(0), stop.OnRecv() >> Says(1), data.OnRecv() >> Says(2)),
        2);
  });
}

// Once it waits, the first to happen wins, wherever it stands.
TEST_P(SelectTest, PriSelectThatWaitsTakesWhatComes) {
  Here([] {
    auto first = MakeChan<int>(), second = MakeChan<int>();
    for (int i = 0; i < Rounds(500); ++i) {
      Task<void> sender = Go([&] { second.Send(i); });
      ASSERT_EQ(PriSelect(first.OnRecv() >> Says(0), second.OnRecv() >> Says(1)), 1);
      sender.Join();
    }
  });
}

// --- Nil, nothing live. (Decisions 4, 5; D8.)

TEST_P(SelectTest, NilIsNeverReady) {
  Here([] {
    Chan<int> nil;
    auto ready = ReadyChan();
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(
          Select(nil.OnRecv() >> Says(0), nil.OnSend(1) >> Says(1), ready.OnRecv() >> Says(2)), 2);
      ready.Send(0);
    }
    EXPECT_EQ(Select(nil.OnRecv() >> Says(0), nil.OnSend(1) >> Says(1), Default >> Says(2)), 2);
    EXPECT_EQ(Select(nil.OnRecv() >> Says(0), nil.OnSend(1) >> Says(1),
                     OnTimeout(absl::Microseconds(1)) >> Says(2)),
              2);
  });
}

TEST_P(SelectTest, WithoutALiveCaseThrows) {
  Here([] {
    Chan<int> nil;
    auto ready = ReadyChan();
    EXPECT_THROW(Select(nil.OnRecv()), NoLiveCase);
    EXPECT_THROW(Select(nil.OnRecv() >> kIgnore, nil.OnSend(1)), NoLiveCase);
    EXPECT_THROW(Select(When(false, ready.OnRecv())), NoLiveCase);
    EXPECT_THROW(PriSelect(When(false, ready.OnRecv() >> kIgnore), nil.OnSend(1)), NoLiveCase);
    EXPECT_THROW(Select(RecvChan<int>().OnRecv()), NoLiveCase);
    EXPECT_EQ(Select(nil.OnRecv() >> Says(0), Default >> Says(1)), 1);
    EXPECT_EQ(Select(Default >> Says(1)), 1);
    Select(Default);
  });
}

// Go's idiom: a channel that is closed is set to nil, and no longer is looked at.
TEST_P(SelectTest, ANilChannelDropsOut) {
  Here([] {
    auto a = MakeChan<int>(), b = MakeChan<int>();
    for (auto ch : {a, b}) {
      Go([ch] {
        for (int i = 0; i < 100; ++i) ch.Send(1);
        ch.Close();
      });
    }
    int sum = 0;
    while (!a.is_nil() || !b.is_nil()) {
      const auto take = [&sum](Chan<int>& ch) {
        return [&](std::optional<int> v) {
          if (v.has_value()) {
            sum += *v;
          } else {
            ch = Chan<int>();
          }
        };
      };
      Select(a.OnRecv() >> take(a), b.OnRecv() >> take(b));
    }
    EXPECT_EQ(sum, 200);
  });
}

TEST_P(SelectTest, WhenOpensAndCloses) {
  Here([] {
    auto a = ReadyChan(), b = ReadyChan();
    for (int i = 0; i < 100; ++i) {
      const bool even = i % 2 == 0;
      EXPECT_EQ(Select(When(even, a.OnRecv() >> Says(0)), When(!even, b.OnRecv() >> Says(1))),
                even ? 0 : 1);
      (even ? a : b).Send(0);
    }
    EXPECT_EQ(Select(When(true, When(true, a.OnRecv() >> Says(3)))), 3);
    EXPECT_THROW(Select(When(true, When(false, b.OnRecv()))), NoLiveCase);
    EXPECT_THROW(Select(When(false, When(true, b.OnRecv()))), NoLiveCase);
  });
}

// --- Closed channels. (Decisions 1, 2.)

TEST_P(SelectTest, ClosedIsReady) {
  Here([] {
    auto ch = MakeChan<Counted>(1);
    ch.Send(Counted(1));
    ch.Close();
    Select(ch.OnRecv() >> [](std::optional<Counted> v) { EXPECT_EQ(v->value(), 1); });
    for (int i = 0; i < 3; ++i) {
      Select(ch.OnRecv() >> [](std::optional<Counted> v) { EXPECT_FALSE(v.has_value()); });
      EXPECT_FALSE(Select(ch.OnRecv()).has_value());
    }
    Counted value(2);
    EXPECT_THROW(Select(ch.OnSend(std::move(value))), ClosedChannel);
    EXPECT_THROW(Select(ch.OnSend(std::move(value)) >> [] { ADD_FAILURE(); }), ClosedChannel);
    EXPECT_THROW(Select(ch.OnSend(std::move(value)), Default), ClosedChannel);
    EXPECT_EQ(value.value(), 2);
  });
}

// --- The same channel more than once. (Decisions 6, 7; D4.)

TEST_P(SelectTest, SameChannelInManyCasesAndEachWins) {
  Here([] {
    auto ch = MakeChan<int>();
    std::array<int, 5> won{};
    Task<void> other = Go([ch] {
      try {
        for (;;) {
          Select(ch.OnSend(1), ch.OnRecv() >> kIgnore);
        }
      } catch (const ClosedChannel&) {
      }
    });
    // Until each has won, which the watchdog would end.
    while (*std::min_element(won.begin(), won.end()) == 0) {
      const int which =
          Select(ch.OnRecv() >> Says(0), ch.OnSend(1) >> Says(1), ch.OnRecv() >> Says(2),
                 ch.OnSend(2) >> Says(3), ch.OnRecv() >> Says(4));
      ++won[static_cast<std::size_t>(which)];
    }
    // Of the dead waiters nothing is left.
    ch.Close();
    try {
      other.Join();
    } catch (const ClosedChannel&) {
    }
  });
}

TEST_P(SelectTest, NeverPairsWithItself) {
  Here([] {
    auto ch = MakeChan<int>();
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(Select(ch.OnSend(1) >> Says(0), ch.OnRecv() >> Says(1), Default >> Says(2)), 2);
      EXPECT_EQ(Select(ch.OnSend(1) >> Says(0), ch.OnRecv() >> Says(1),
                       OnTimeout(absl::Nanoseconds(1)) >> Says(2)),
                2);
    }
    std::optional<int> v;
    EXPECT_FALSE(ch.TryRecv(v));
    EXPECT_FALSE(ch.TrySend(1));
  });
}

TEST_P(SelectTest, TheSameSelectOnABufferedChannelFillsAndDrains) {
  Here([] {
    auto ch = MakeChan<int>(1);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(Select(ch.OnSend(i) >> Says(0), ch.OnRecv() >> Says(1)), 0);
      EXPECT_EQ(Select(
                    ch.OnSend(i) >> Says(0), ch.OnRecv() >>
                                                 [&](std::optional<int> v) {
                                                   EXPECT_EQ(v, i);
                                                   return 1;
                                                 }),
                1);
    }
  });
}

// --- Losers are untouched. (Decision 8.)

TEST_P(SelectTest, MovesOnlyTheValueThatIsChosen) {
  Here([] {
    auto a = MakeChan<Counted>(1), b = MakeChan<Counted>(1), full = MakeChan<Counted>();
    for (int i = 0; i < 100; ++i) {
      Counted to_a(1), to_b(2), to_full(3);
      const int which =
          Select(a.OnSend(std::move(to_a)) >> Says(0), b.OnSend(std::move(to_b)) >> Says(1),
                 full.OnSend(std::move(to_full)) >> Says(2));
      EXPECT_EQ(to_a.empty(), which == 0);
      EXPECT_EQ(to_b.empty(), which == 1);
      EXPECT_EQ(to_full.value(), 3);
      EXPECT_EQ((which == 0 ? a : b).Recv()->value(), which + 1);
    }
    EXPECT_EQ(Counted::live(), 0);
  });
}

TEST_P(SelectTest, AWaitThatLosesLeavesItsValue) {
  Here([] {
    auto out = MakeChan<Counted>();
    auto in = MakeChan<int>();
    for (int i = 0; i < Rounds(500); ++i) {
      Counted value(i);
      Task<void> sender = Go([&] { in.Send(i); });
      EXPECT_EQ(Select(out.OnSend(std::move(value)) >> Says(0), in.OnRecv() >> Says(1)), 1);
      EXPECT_EQ(value.value(), i);
      sender.Join();
    }
  });
}

TEST_P(SelectTest, CopiesAnLvalueBeforehand) {
  Here([] {
    auto ch = MakeChan<std::string>(1);
    std::string text = "before";
    Select(ch.OnSend(text));
    EXPECT_EQ(text, "before");
    text = "after";
    EXPECT_EQ(ch.Recv(), "before");
    const std::string constant = "constant";
    Select(ch.OnSend(constant));
    EXPECT_EQ(ch.Recv(), "constant");
    Select(ch.OnSend("converted"));
    EXPECT_EQ(ch.Recv(), "converted");
  });
}

// --- Handlers. (Decisions 16, 17.)

TEST_P(SelectTest, WhatAHandlerThrowsComesOutAndTheOperationStays) {
  Here([] {
    auto ch = MakeChan<int>(1);
    ch.Send(7);
    EXPECT_THROW(Select(ch.OnRecv() >> [](std::optional<int>) { throw std::out_of_range(""); }),
                 std::out_of_range);
    EXPECT_EQ(ch.len(), 0u);
    EXPECT_THROW(Select(ch.OnSend(8) >> [] { throw std::out_of_range(""); }), std::out_of_range);
    EXPECT_EQ(ch.Recv(), 8);
    EXPECT_THROW(Select(
                     ch.OnRecv() >> kIgnore, Default >> [] { throw std::out_of_range(""); }),
                 std::out_of_range);
  });
}

TEST_P(SelectTest, AHandlerMayBlockAndSelect) {
  Here([] {
    auto ch = MakeChan<int>(), inner = MakeChan<int>();
    Task<void> sender = Go([=] {
      ch.Send(1);
      Yield();
      ch.Send(2);  // the same channel, from inside the handler
      inner.Send(3);
    });
    const int sum = Select(ch.OnRecv() >> [&](std::optional<int> first) {
      const int second = *ch.Recv();
      return Select(
          inner.OnRecv() >> [&](std::optional<int> third) { return *first + second + *third; },
          ch.OnRecv() >> Says(-1));
    });
    EXPECT_EQ(sum, 6);
    sender.Join();
  });
}

TEST_P(SelectTest, AHandlerMayDestroyTheChannel) {
  Here([] {
    for (int round = 0; round < 100; ++round) {
      std::optional<Chan<Counted>> ch = MakeChan<Counted>(1), other = MakeChan<Counted>();
      Counted value(1);
      if (round % 2 == 0) {
        ch->Send(Counted(5));
        Select(
            ch->OnRecv() >>
                [&](std::optional<Counted> v) {
                  ch.reset();
                  other.reset();
                  EXPECT_EQ(v->value(), 5);
                },
            other->OnSend(std::move(value)));
        EXPECT_EQ(value.value(), 1);
      } else {
        Select(
            ch->OnSend(std::move(value)) >>
                [&] {
                  ch.reset();
                  other.reset();
                },
            other->OnRecv() >> kIgnore);
        EXPECT_TRUE(value.empty());
      }
    }
    EXPECT_EQ(Counted::live(), 0);
  });
}

// An event of a temporary handle keeps the channel.
TEST_P(SelectTest, EventsOfTemporariesOwn) {
  Here([] {
    const auto make = [] {
      auto ch = MakeChan<Counted>(1);
      ch.Send(Counted(9));
      return ch;
    };
    EXPECT_EQ(Select(make().OnRecv() >> [](std::optional<Counted> v) { return v->value(); }), 9);
    Counted value(1);
    Select(MakeChan<Counted>(1).OnSend(std::move(value)), MakeChan<Counted>().OnRecv() >> kIgnore);
    EXPECT_TRUE(value.empty());
    EXPECT_EQ(Counted::live(), 1);  // `value` itself
  });
}

TEST_P(SelectTest, HandlersMayBeNamedMoveOnlyOrFunctions) {
  Here([] {
    auto ch = MakeChan<int>(1);
    int calls = 0;
    auto named = [&calls, only = std::make_unique<int>(1)](std::optional<int> v) mutable {
      calls += *v + *std::exchange(only, nullptr);
    };
    ch.Send(1);
    Select(ch.OnRecv() >> named);
    EXPECT_EQ(calls, 2);
    static int seen;
    ch.Send(3);
    Select(ch.OnRecv() >> +[](std::optional<int> v) { seen = *v; });
    EXPECT_EQ(seen, 3);
    struct {
      void operator()(const std::optional<int>& v) const { seen = *v; }
    } const object;
    ch.Send(4);
    Select(ch.OnRecv() >> object);
    EXPECT_EQ(seen, 4);
  });
}

// --- Results. (Decision 18.)

TEST_P(SelectTest, ReturnsTheCommonType) {
  Here([] {
    auto ch = MakeChan<int>(1);
    const auto ready = [&]() -> Chan<int>& {
      std::optional<int> v;
      ch.TryRecv(v);
      ch.Send(1);
      return ch;
    };
    static_assert(std::same_as<void, decltype(Select(ch.OnSend(1)))>);
    static_assert(std::same_as<void, decltype(Select(ch.OnSend(1), OnTimeout(absl::Seconds(1))))>);
    static_assert(std::same_as<std::optional<int>, decltype(Select(ch.OnRecv()))>);
    static_assert(
        std::same_as<double, decltype(Select(
                                 ch.OnRecv() >> Says(1), Default >> [] { return 0.5; }))>);
    EXPECT_EQ(Select(
                  ready().OnRecv() >> Says(1), Default >> [] { return 0.5; }),
              1.0);
    const std::string text = Select(
        ready().OnRecv() >> [](std::optional<int>) { return std::string("string"); },
        Default >> [] { return "literal"; });
    EXPECT_EQ(text, "string");
    const std::unique_ptr<int> pointer = Select(
        ready().OnRecv() >> [](std::optional<int> v) { return std::make_unique<int>(*v); },
        Default >> [] { return std::unique_ptr<int>(); });
    EXPECT_EQ(*pointer, 1);
    const std::optional<int> optional = Select(
        ready().OnRecv(), Default >> [] { return std::nullopt; });
    EXPECT_EQ(optional, 1);
  });
}

TEST_P(SelectTest, ReturnsValuesNotReferences) {
  Here([] {
    auto ch = ReadyChan();
    std::string text = "text";
    const auto result =
        Select(ch.OnRecv() >> [&](std::optional<int>) -> std::string& { return text; });
    static_assert(std::same_as<const std::string, decltype(result)>);
    EXPECT_EQ(result, "text");
    EXPECT_EQ(text, "text");
  });
}

TEST_P(SelectTest, ReturnsATaskResultOrItsException) {
  Here([] {
    auto never = MakeChan<int>();
    Task<int> task = Go([] { return 5; });
    EXPECT_EQ(Select(task.OnJoin(), never.OnRecv() >> Says(0)), 5);
    EXPECT_FALSE(task.joinable());
    Task<int> failing = Go([]() -> int { throw std::out_of_range("x"); });
    EXPECT_THROW(Select(failing.OnJoin(), never.OnRecv() >> Says(0)), std::out_of_range);
    Task<void> quiet = Go([] {});
    EXPECT_EQ(Select(quiet.OnJoin() >> Says(1), never.OnRecv() >> Says(0)), 1);
  });
}

// --- Up to 64 cases.

template <std::size_t... I>
int SelectAmong(const std::vector<Chan<int>>& chans, std::index_sequence<I...>) {
  return Select((chans[I].OnRecv() >> [](std::optional<int> v) { return *v; })...);
}
int SelectAmong64(const std::vector<Chan<int>>& chans) {
  return SelectAmong(chans, std::make_index_sequence<64>());
}

TEST_P(SelectTest, SixtyFourCases) {
  Here([] {
    std::vector<Chan<int>> chans;
    for (int i = 0; i < 64; ++i) chans.push_back(MakeChan<int>(static_cast<std::size_t>(i % 2)));
    for (int round = 0; round < Rounds(200); ++round) {
      for (int i = 0; i < 64; ++i) {
        const auto& ch = chans[static_cast<std::size_t>(i)];
        if (i % 2 == 1) {
          ch.Send(i);  // ready beforehand
          ASSERT_EQ(SelectAmong64(chans), i);
        } else {
          Task<void> sender = Go([ch, i] { ch.Send(i); });
          ASSERT_EQ(SelectAmong64(chans), i);
          sender.Join();
        }
      }
    }
  });
}

}  // namespace
}  // namespace csp
