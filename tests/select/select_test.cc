// Select: cases that can be taken, cannot, or are there more than once, and what a case that is not
// taken leaves. (select_choice_test.cc: which one is taken; select_handler_test.cc: what follows.)

#include "csp/select/select.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// --- Events of every kind. (D10.)

TEST_P(SelectTest, OneSelectWaitsForEverything) {
  Here([] {
    for (int round = 0; round < Rounds(700); ++round) {
      const int which = round % 7;
      auto in = MakeChan<int>(), out = MakeChan<int>();
      Event event, gate;
      Timer timer(absl::InfiniteDuration());
      Ticker ticker(absl::InfiniteDuration());
      Task<void> joined = Go([&] { gate.Wait(); });
      Task<void> cause = Go([&] {
        if (which == 0) in.Send(1);
        if (which == 1) (void)out.Recv();
        if (which == 2) event.Set();
        if (which == 3) timer.Reset(absl::ZeroDuration());
        if (which == 4) ticker.Reset(absl::Nanoseconds(1));
        if (which == 5) gate.Set();
      });
      const absl::Duration timeout = which == 6 ? absl::Microseconds(1) : absl::InfiniteDuration();
      ASSERT_EQ(Select(in.OnRecv() >> Says(0), out.OnSend(1) >> Says(1), event.OnWait() >> Says(2),
                       timer.OnFire() >> Says(3), ticker.OnTick() >> Says(4),
                       joined.OnJoin() >> Says(5), OnTimeout(timeout) >> Says(6)),
                which);
      cause.Join();
      gate.Set();
      if (which != 5) joined.Join();
    }
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
