// Channels by themselves: capacities, order, closing, ranges.

#include "csp/chan/chan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/chan/counted.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using ChanTest = RuntimeTest;
CSP_INSTANTIATE(ChanTest);

// A channel of each kind, by name.
struct Flavour {
  const char* name;
  Chan<int> (*make)();
};
constexpr Flavour kFlavours[] = {
    {"unbuffered", [] { return MakeChan<int>(); }},
    {"capacity 1", [] { return MakeChan<int>(1); }},
    {"capacity 2", [] { return MakeChan<int>(2); }},
    {"capacity 128", [] { return MakeChan<int>(128); }},
    {"unbounded", [] { return MakeChan<int>(kUnbounded); }},
};

// --- Capacity. (C9: any capacity, exactly.)

TEST_P(ChanTest, TakesExactlyItsCapacity) {
  Here([] {
    for (std::size_t capacity : {0, 1, 2, 3, 5, 7, 8, 1000}) {
      auto ch = MakeChan<int>(capacity);
      EXPECT_EQ(ch.capacity(), capacity);
      for (int round = 0; round < 3; ++round) {
        std::size_t sent = 0;
        while (ch.TrySend(static_cast<int>(sent))) {
          ASSERT_EQ(ch.len(), ++sent);
        }
        EXPECT_EQ(sent, capacity);
        std::optional<int> v;
        for (std::size_t i = 0; i < sent; ++i) {
          ASSERT_TRUE(ch.TryRecv(v));
          ASSERT_EQ(v, static_cast<int>(i));
        }
        EXPECT_FALSE(ch.TryRecv(v));
        EXPECT_EQ(v, std::nullopt);
        EXPECT_EQ(ch.len(), 0u);
      }
    }
  });
}

TEST_P(ChanTest, UnboundedTakesAnything) {
  Here([] {
    auto ch = MakeChan<int>(kUnbounded);
    EXPECT_EQ(ch.capacity(), SIZE_MAX);
    const int count = Rounds(100'000);
    for (int i = 0; i < count; ++i) ch.Send(i);
    EXPECT_EQ(ch.len(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) ASSERT_EQ(ch.Recv(), i);
  });
}

TEST_P(ChanTest, RefusesACapacityThatFitsNowhere) {
  Here([] {
    EXPECT_THROW((void)MakeChan<int>(SIZE_MAX), InvalidArgument);
    EXPECT_THROW((void)MakeChan<int>(static_cast<std::size_t>(-1)), InvalidArgument);
    EXPECT_THROW((void)MakeChan<char>(SIZE_MAX), InvalidArgument);
  });
}

// --- Order.

TEST_P(ChanTest, IsFifo) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      auto ch = flavour.make();
      const int count = Rounds(20'000);
      Task<void> sender = Go([=] {
        for (int i = 0; i < count; ++i) ch.Send(i);
        ch.Close();
      });
      int expected = 0;
      while (std::optional<int> v = ch.Recv()) ASSERT_EQ(*v, expected++) << flavour.name;
      EXPECT_EQ(expected, count) << flavour.name;
      sender.Join();
    }
  });
}

// Values of one sender stay in order among those of others, and nothing is lost or doubled.
TEST_P(ChanTest, KeepsEachSendersOrder) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      constexpr int kSenders = 4;
      const int count = Rounds(5'000);
      auto ch = flavour.make();
      std::vector<Task<void>> senders;
      for (int s = 0; s < kSenders; ++s) {
        senders.push_back(Go([=] {
          for (int i = 0; i < count; ++i) ch.Send(i * kSenders + s);
        }));
      }
      std::array<int, kSenders> next{};
      for (int i = 0; i < kSenders * count; ++i) {
        const std::optional<int> v = ch.Recv();
        ASSERT_TRUE(v.has_value()) << flavour.name;
        ASSERT_EQ(*v / kSenders, next[static_cast<std::size_t>(*v % kSenders)]++) << flavour.name;
      }
      for (Task<void>& sender : senders) sender.Join();
      EXPECT_EQ(ch.len(), 0u) << flavour.name;
    }
  });
}

TEST_P(ChanTest, ManyToManyDeliversEachValueOnce) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      constexpr int kSides = 4;
      const int count = Rounds(5'000);
      auto ch = flavour.make();
      std::vector<Task<void>> senders;
      std::vector<Task<std::int64_t>> receivers;
      for (int s = 0; s < kSides; ++s) {
        senders.push_back(Go([=] {
          for (int i = 0; i < count; ++i) ch.Send(s * count + i);
        }));
        receivers.push_back(Go([ch] {
          std::int64_t sum = 0;
          for (int v : ch) sum += v;
          return sum;
        }));
      }
      for (Task<void>& sender : senders) sender.Join();
      ch.Close();
      std::int64_t sum = 0;
      for (auto& receiver : receivers) sum += receiver.Join();
      const std::int64_t all = std::int64_t{kSides} * count;
      EXPECT_EQ(sum, all * (all - 1) / 2) << flavour.name;
    }
  });
}

TEST_P(ChanTest, ServesWhoWaitsFirst) {
  Here([this] {
    if (workers() != 1) return;  // only there the order of parking is known
    auto ch = MakeChan<int>();
    std::vector<int> served;
    std::vector<Task<void>> receivers;
    for (int i = 0; i < 10; ++i) {
      receivers.push_back(Go([&served, ch, i] {
        if (ch.Recv().has_value()) served.push_back(i);
      }));
    }
    std::vector<int> order;
    // Newborns start newest first, so the order of waiting is learned by a second round.
    for (int i = 0; i < 10; ++i) Yield();
    for (int i = 0; i < 10; ++i) ch.Send(i);
    for (auto& receiver : receivers) receiver.Join();
    EXPECT_EQ(std::set<int>(served.begin(), served.end()).size(), 10u);

    // Those who wait to send are served in the order in which they came.
    std::vector<Task<void>> senders;
    for (int i = 0; i < 10; ++i) {
      auto started = MakeChan<Unit>(1);
      senders.push_back(Go([ch, i, started] {
        started.Send({});
        ch.Send(i);
      }));
      (void)started.Recv();
      Yield();  // on one worker: it goes on until it waits
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ch.Recv(), i);
    for (auto& sender : senders) sender.Join();
  });
}

// --- Closing.

TEST_P(ChanTest, CloseLetsTheBufferBeDrained) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      auto ch = flavour.make();
      int sent = 0;
      while (sent < 100 && ch.TrySend(sent)) ++sent;
      ch.Close();
      EXPECT_EQ(ch.len(), static_cast<std::size_t>(sent)) << flavour.name;
      for (int i = 0; i < sent; ++i) EXPECT_EQ(ch.Recv(), i) << flavour.name;
      for (int i = 0; i < 3; ++i) EXPECT_EQ(ch.Recv(), std::nullopt) << flavour.name;
      std::optional<int> v = 7;
      EXPECT_TRUE(ch.TryRecv(v)) << flavour.name;
      EXPECT_EQ(v, std::nullopt) << flavour.name;
      v = 7;
      EXPECT_TRUE(ch.RecvFor(absl::ZeroDuration(), v)) << flavour.name;
      EXPECT_EQ(v, std::nullopt) << flavour.name;
      v = 7;
      EXPECT_TRUE(ch.RecvFor(absl::InfiniteDuration(), v)) << flavour.name;
      EXPECT_EQ(v, std::nullopt) << flavour.name;
    }
  });
}

TEST_P(ChanTest, SendOnClosedThrowsAndLeavesTheValue) {
  Here([] {
    for (auto ch : {MakeChan<Counted>(), MakeChan<Counted>(1), MakeChan<Counted>(kUnbounded)}) {
      ch.Close();
      Counted value(1);
      EXPECT_THROW(ch.Send(std::move(value)), ClosedChannel);
      EXPECT_THROW((void)ch.TrySend(std::move(value)), ClosedChannel);
      EXPECT_THROW((void)ch.SendFor(absl::ZeroDuration(), std::move(value)), ClosedChannel);
      EXPECT_THROW((void)ch.SendFor(absl::Hours(1), std::move(value)), ClosedChannel);
      EXPECT_EQ(value.value(), 1);
      EXPECT_EQ(ch.len(), 0u);
    }
    EXPECT_EQ(Counted::live(), 0);
  });
}

TEST_P(ChanTest, ClosesOnce) {
  Here([] {
    auto ch = MakeChan<int>(1);
    ch.Close();
    EXPECT_THROW(ch.Close(), ClosedChannel);
    EXPECT_THROW(SendChan<int>(ch).Close(), ClosedChannel);
    EXPECT_EQ(ch.Recv(), std::nullopt);
  });
}

TEST_P(ChanTest, OfManyWhoCloseOneSucceeds) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      auto ch = MakeChan<int>();
      std::vector<Task<bool>> closers;
      for (int i = 0; i < 4; ++i) {
        closers.push_back(Go([ch] {
          try {
            ch.Close();
            return true;
          } catch (const ClosedChannel&) {
            return false;
          }
        }));
      }
      int closed = 0;
      for (auto& closer : closers) closed += closer.Join() ? 1 : 0;
      ASSERT_EQ(closed, 1);
    }
  });
}

// --- Ranges.

TEST_P(ChanTest, RangeForEndsAtClose) {
  Here([] {
    auto ch = MakeChan<std::unique_ptr<int>>(3);
    for (int i = 1; i <= 3; ++i) ch.Send(std::make_unique<int>(i));
    ch.Close();
    std::vector<int> seen;
    for (std::unique_ptr<int>& v : ch) {
      seen.push_back(*v);
      std::unique_ptr<int> taken = std::move(v);  // ours to take
    }
    EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
    for ([[maybe_unused]] auto& v : ch) ADD_FAILURE() << "closed and drained";
  });
}

TEST_P(ChanTest, LeavingARangeForLosesNothingButItsValue) {
  Here([] {
    auto ch = MakeChan<int>(3);
    for (int i = 1; i <= 3; ++i) ch.Send(i);
    for (int v : ch) {
      EXPECT_EQ(v, 1);
      break;
    }
    EXPECT_EQ(ch.len(), 2u);
    EXPECT_EQ(ch.Recv(), 2);
  });
}

// --- Ends and threads.

TEST_P(ChanTest, DirectionalEndsWork) {
  Here([] {
    auto ch = MakeChan<int>();
    Task<void> sender = Go(
        [](SendChan<int> out) {
          for (int i = 0; i < 10; ++i) out.Send(i);
          out.Close();
        },
        ch);
    int sum = 0;
    for (int v : RecvChan<int>(ch)) sum += v;
    EXPECT_EQ(sum, 45);
    sender.Join();
  });
}

// M1: made on one kind of thread, used on the other.
TEST_P(ChanTest, PlainThreadsAndFibersMeet) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      auto to_thread = flavour.make();
      auto to_fiber = flavour.make();
      const int count = Rounds(2'000);
      std::thread thread([&] {
        for (int v : to_thread) to_fiber.Send(v + 1);
        to_fiber.Close();
      });
      Task<void> feeder = Go([=] {
        for (int i = 0; i < count; ++i) to_thread.Send(i);
        to_thread.Close();
      });
      int expected = 1;
      for (int v : to_fiber) ASSERT_EQ(v, expected++) << flavour.name;
      EXPECT_EQ(expected, count + 1) << flavour.name;
      feeder.Join();
      thread.join();
    }
  });
}

}  // namespace
}  // namespace csp
