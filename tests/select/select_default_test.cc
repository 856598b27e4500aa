// Default is taken only if at one instant no case was ready. (Decision 12, D11.)

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelectDefaultTest = RuntimeTest;
CSP_INSTANTIATE(SelectDefaultTest);

constexpr auto kTaken = [](const auto&...) { return true; };
constexpr auto kNothing = [] { return false; };

// Both sides of a race spin: with more workers than processors a round may take one of the kernel's
// turns.
int RacingRounds(int workers) { return Rounds(workers > 2 ? 150 : 800); }

TEST_P(SelectDefaultTest, IsNotTakenWhileACaseIsReady) {
  Here([] {
    auto full = MakeChan<int>(1), never = MakeChan<int>();
    full.Send(1);
    Event set;
    set.Set();
    for (int i = 0; i < Rounds(10'000); ++i) {
      ASSERT_TRUE(Select(never.OnRecv() >> kTaken, full.OnRecv() >> kTaken, Default >> kNothing));
      ASSERT_TRUE(Select(never.OnRecv() >> kTaken, full.OnSend(1) >> kTaken, Default >> kNothing));
      ASSERT_TRUE(Select(Default >> kNothing, never.OnRecv() >> kTaken, set.OnWait() >> kTaken));
    }
  });
}

TEST_P(SelectDefaultTest, IsTakenWhenNothingIs) {
  Here([] {
    auto empty = MakeChan<int>(1), full = MakeChan<int>(1), never = MakeChan<int>();
    full.Send(1);
    for (int i = 0; i < Rounds(10'000); ++i) {
      ASSERT_FALSE(Select(empty.OnRecv() >> kTaken, full.OnSend(1) >> kTaken,
                          never.OnRecv() >> kTaken, never.OnSend(1) >> kTaken,
                          OnTimeout(absl::Hours(1)) >> kTaken, Default >> kNothing));
    }
    EXPECT_EQ(full.len(), 1u);
    EXPECT_EQ(empty.len(), 0u);
  });
}

// A partner that waits is ready.
TEST_P(SelectDefaultTest, IsNotTakenWhileAPartnerWaits) {
  Here([this] {
    if (workers() != 1) return;  // only there it is known when the other waits
    auto ch = MakeChan<int>(), never = MakeChan<int>();
    for (int i = 0; i < 100; ++i) {
      Task<void> partner = Go([&] {
        if (i % 3 == 0) ch.Send(i);
        if (i % 3 == 1) (void)ch.Recv();
        if (i % 3 == 2)
          Select(
              ch.OnSend(i), never.OnRecv() >> [](std::optional<int>) {});
      });
      for (int k = 0; k < 100; ++k) Yield();
      ASSERT_TRUE(Select(never.OnRecv() >> kTaken, ch.OnRecv() >> kTaken, ch.OnSend(1) >> kTaken,
                         Default >> kNothing));
      partner.Join();
    }
  });
}

// A token hops between two events and is always in at least one of them.
TEST_P(SelectDefaultTest, SeesATokenThatHopsBetweenEvents) {
  Here([] {
    Event a, b;
    a.Set();
    std::atomic<bool> over{false};
    std::thread hopper([&] {
      while (!over.load(std::memory_order_relaxed)) {
        b.Set();
        a.Reset();
        a.Set();
        b.Reset();
      }
    });
    int wrong = 0;
    for (int i = 0; i < Rounds(200'000); ++i) {
      wrong += Select(a.OnWait() >> kTaken, b.OnWait() >> kTaken, Default >> kNothing) ? 0 : 1;
    }
    over = true;
    hopper.join();
    EXPECT_EQ(wrong, 0);
  });
}

// Go's question: one of two channels always has a value; a select with a Default finds it, also on
// channels that no select has seen before.
TEST_P(SelectDefaultTest, SeesAValueThatMovesFromChannelToChannel) {
  Here([this] {
    struct Pair {
      Chan<int> from = MakeChan<int>(1);
      Chan<int> to = MakeChan<int>(1);
    };
    const int rounds = RacingRounds(workers());
    std::vector<Pair> pairs(static_cast<std::size_t>(rounds));
    for (Pair& pair : pairs) pair.from.Send(1);
    std::atomic<int> turn{-1}, over{-1};
    std::thread mover([&] {
      for (int i = 0; i < rounds; ++i) {
        while (turn.load() < i) std::this_thread::yield();
        Pair& pair = pairs[static_cast<std::size_t>(i)];
        pair.to.Send(1);
        std::optional<int> v;
        (void)pair.from.TryRecv(v);
        over = i;
      }
    });
    int wrong = 0;
    for (int i = 0; i < rounds; ++i) {
      Pair& pair = pairs[static_cast<std::size_t>(i)];
      turn = i;
      for (int k = 0; k < i % 64; ++k) (void)over.load();
      const bool found = i % 2 == 0 ? Select(pair.from.OnRecv() >> kTaken,
                                             pair.to.OnRecv() >> kTaken, Default >> kNothing)
                                    : Select(pair.to.OnRecv() >> kTaken,
                                             pair.from.OnRecv() >> kTaken, Default >> kNothing);
      wrong += found ? 0 : 1;
      while (over.load() < i) Yield();
    }
    mover.join();
    EXPECT_EQ(wrong, 0);
  });
}

// Two selects that are the first on a channel, at the same time.
TEST_P(SelectDefaultTest, IsExactOnTheFirstLooksAtAChannel) {
  Here([this] {
    const int rounds = RacingRounds(workers());
    std::vector<Chan<int>> chans;
    for (int i = 0; i < rounds; ++i) {
      chans.push_back(MakeChan<int>(2));
      chans.back().Send(1);
      chans.back().Send(2);
    }
    std::atomic<int> turn{-1}, over{-1};
    std::atomic<int> wrong{0};
    const auto take = [&](int i) {
      if (!Select(chans[static_cast<std::size_t>(i)].OnRecv() >> kTaken, Default >> kNothing)) {
        ++wrong;
      }
    };
    std::thread other([&] {
      for (int i = 0; i < rounds; ++i) {
        while (turn.load() < i) std::this_thread::yield();
        take(i);
        over = i;
      }
    });
    for (int i = 0; i < rounds; ++i) {
      turn = i;
      take(i);
      while (over.load() < i) Yield();
    }
    other.join();
    EXPECT_EQ(wrong.load(), 0);
  });
}

// Values of a stream that is polled with Default: each arrives once, in order.
TEST_P(SelectDefaultTest, PollingLosesNothing) {
  Here([] {
    for (std::size_t capacity : {0, 1, 4}) {
      auto a = MakeChan<int>(capacity), b = MakeChan<int>(capacity);
      const int count = Rounds(5'000);
      Task<void> senders[] = {Go([=] {
                                for (int i = 0; i < count; ++i) a.Send(i);
                              }),
                              Go([=] {
                                for (int i = 0; i < count; ++i) b.Send(i);
                              })};
      int next_a = 0, next_b = 0;
      while (next_a + next_b < 2 * count) {
        Select(
            a.OnRecv() >> [&](std::optional<int> v) { EXPECT_EQ(v, next_a++); },
            b.OnRecv() >> [&](std::optional<int> v) { EXPECT_EQ(v, next_b++); },
            Default >> [] { Yield(); });
      }
      for (auto& sender : senders) sender.Join();
    }
  });
}

}  // namespace
}  // namespace csp
