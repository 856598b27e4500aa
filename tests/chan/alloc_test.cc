// Sending, receiving and selecting allocate nothing, and what a wait leaves behind is nothing.

#include <algorithm>
#include <functional>
#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

const int kRounds = Rounds(10'000);

// Allocations of the second of two equal rounds: the first one warms up caches and vectors.
template <class F>
long AllocationsOf(F round) {
  round();
  const long before = Allocations();
  round();
  return Allocations() - before;
}

constexpr auto kIgnore = [](const auto&...) {};

void ExpectNone(long allocations) {
  EXPECT_LE(allocations, kAllocatedOnce) << "in " << kRounds << " rounds";
}

class AllocTest : public RuntimeTest {
 protected:
  void Here(const std::function<void()>& body) {
    RuntimeTest::Here([&] {
      StartEveryWorker();
      body();
    });
  }
};
CSP_INSTANTIATE(AllocTest);

TEST_P(AllocTest, CountsAtAll) {
  Here([] {
    const long before = Allocations();
    (void)MakeChan<int>();
    EXPECT_GT(Allocations(), before);
  });
}

TEST_P(AllocTest, PlainVerbsAllocateNothing) {
  Here([] {
    for (std::size_t capacity : {0, 1, 8}) {
      auto ch = MakeChan<int>(capacity);
      auto back = MakeChan<int>(capacity);
      Task<void> echo = Go([ch, back] {
        for (int v : ch) back.Send(v);
      });
      ExpectNone(AllocationsOf([&] {
        for (int i = 0; i < kRounds; ++i) {
          ch.Send(i);
          ASSERT_EQ(back.Recv(), i);
        }
      }));
      ch.Close();
      echo.Join();
    }
  });
}

TEST_P(AllocTest, TryAndTimedFormsAllocateNothing) {
  Here([] {
    auto ch = MakeChan<int>(1);
    ExpectNone(AllocationsOf([&] {
      std::optional<int> v;
      for (int i = 0; i < kRounds; ++i) {
        ASSERT_FALSE(ch.TryRecv(v));
        ASSERT_FALSE(ch.RecvFor(absl::ZeroDuration(), v));
        ASSERT_TRUE(ch.TrySend(i));
        ASSERT_FALSE(ch.TrySend(i));
        ASSERT_TRUE(ch.RecvFor(absl::Hours(1), v));
      }
      for (int i = 0; i < kRounds / 100; ++i) {
        ASSERT_FALSE(ch.RecvFor(absl::Microseconds(1), v));
      }
    }));
  });
}

TEST_P(AllocTest, UnboundedAllocatesAChunkNowAndThen) {
  Here([] {
    auto ch = MakeChan<int>(kUnbounded);
    // Filled and drained by turns: the chunks come back.
    ExpectNone(AllocationsOf([&] {
      for (int i = 0; i < kRounds; ++i) {
        ch.Send(i);
        ASSERT_EQ(ch.Recv(), i);
      }
    }));
    const long chunks = AllocationsOf([&] {
      for (int i = 0; i < kRounds; ++i) ch.Send(i);
    });
    EXPECT_LE(chunks, kRounds / 50);
  });
}

TEST_P(AllocTest, ReadySelectAllocatesNothing) {
  Here([] {
    auto a = MakeChan<int>(1);
    auto b = MakeChan<int>(1);
    ExpectNone(AllocationsOf([&] {
      for (int i = 0; i < kRounds; ++i) {
        int got = 0;
        Select(a.OnSend(i), b.OnSend(i));
        Select(
            a.OnRecv() >> [&](std::optional<int> v) { got = *v; },
            b.OnRecv() >> [&](std::optional<int> v) { got = *v; },
            OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
        ASSERT_EQ(got, i);
        Select(
            a.OnRecv() >> [](std::optional<int>) { ADD_FAILURE(); },
            b.OnRecv() >> [](std::optional<int>) { ADD_FAILURE(); }, Default);
      }
    }));
  });
}

TEST_P(AllocTest, WaitingSelectAllocatesNothing) {
  Here([] {
    auto ch = MakeChan<int>();
    auto back = MakeChan<int>();
    auto never = MakeChan<int>();
    Task<void> echo = Go([=] {
      bool open = true;
      while (open) {
        Select(
            ch.OnRecv() >>
                [&](std::optional<int> v) {
                  open = v.has_value();
                  if (open) Select(back.OnSend(*v), never.OnRecv() >> kIgnore);
                },
            never.OnRecv() >> kIgnore, OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
      }
    });
    ExpectNone(AllocationsOf([&] {
      for (int i = 0; i < kRounds; ++i) {
        Select(
            ch.OnSend(i), never.OnRecv() >> kIgnore,
            OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
        const std::optional<int> v = Select(back.OnRecv(), never.OnRecv());
        ASSERT_EQ(v, i);
      }
    }));
    ch.Close();
    echo.Join();
  });
}

// Once each cell has been used.
TEST_P(AllocTest, BroadcastAndWatchAllocateNothing) {
  Here([] {
    const auto ch = MakeBroadcast<int>(4);
    const auto watch = MakeWatch(0);
    BroadcastReader<int> acks = ch.Subscribe();
    Task<void> echo = Go([ch, changes = watch.Subscribe()]() mutable {
      for (int i = 0; changes.Next().has_value(); ++i) ch.Send(i);
    });
    (void)acks.Recv();  // of the value that the watch began with
    ExpectNone(AllocationsOf([&] {
      for (int i = 0; i < kRounds; ++i) {
        watch.Set(i);
        std::optional<Delivery<int>> got;
        if (i % 2 == 0) {
          got = acks.Recv();
        } else {
          ASSERT_TRUE(acks.RecvFor(absl::Hours(1), got));
        }
        ASSERT_EQ(got->missed, 0u);
        ASSERT_FALSE(acks.TryRecv(got));
        ASSERT_EQ(watch.Get(), i);
      }
    }));
    watch.Close();
    echo.Join();
  });
}

// Go's question about undue memory: a timeout that never fires costs nothing once the select is
// over, though its hour has not passed.
TEST_P(AllocTest, AMillionSelectsWithLongTimeoutsLeaveNothing) {
  Here([this] {
    auto ch = MakeChan<int>();
    auto never = MakeChan<int>();
    const int count = Rounds(1'000'000) / (on_plain_thread() ? 20 : 2);  // two selects each
    Task<void> sender = Go([=] {
      for (int i = 0; i < count; ++i) {
        Select(
            ch.OnSend(i), OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
      }
    });
    std::size_t most_timers = 0;
    const long before = Allocations();
    for (int i = 0; i < count; ++i) {
      Select(ch.OnRecv() >> kIgnore, never.OnRecv() >> kIgnore, OnTimeout(absl::Hours(1)),
             OnTimeout(absl::Hours(2)));
      if (i % 1024 == 0) most_timers = std::max(most_timers, GetStats().timers);
    }
    EXPECT_LE(Allocations() - before, kAllocatedOnce);
    EXPECT_LE(most_timers, 4u);
    sender.Join();
    EXPECT_EQ(GetStats().timers, 0u);
  });
}

}  // namespace
}  // namespace csp
