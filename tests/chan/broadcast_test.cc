// Broadcast: every reader gets every value, or is told how many it has missed.

#include "csp/chan/broadcast.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/chan/next.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using BroadcastTest = RuntimeTest;
CSP_INSTANTIATE(BroadcastTest);

using Got = std::optional<Delivery<int>>;

void ExpectNext(BroadcastReader<int>& reader, int value, std::uint64_t missed = 0) {
  const Delivery<int> got = Next(reader);
  EXPECT_EQ(got.value, value);
  EXPECT_EQ(got.missed, missed);
}

template <class T>
void ExpectNothing(BroadcastReader<T>& reader) {
  std::optional<Delivery<T>> got;
  EXPECT_FALSE(reader.TryRecv(got));
  EXPECT_FALSE(got.has_value());
  EXPECT_EQ(reader.len(), 0u);
}

// --- Who gets what.

TEST_P(BroadcastTest, EveryReaderGetsEveryValue) {
  Here([] {
    constexpr int kCount = 100;
    const auto ch = MakeBroadcast<int>(kCount);
    EXPECT_EQ(ch.capacity(), static_cast<std::size_t>(kCount));
    std::vector<Task<int>> readers;
    for (int i = 0; i < 4; ++i) {
      readers.push_back(Go([reader = ch.Subscribe()]() mutable {
        int expected = 0;
        while (Got got = reader.Recv()) {
          EXPECT_EQ(got->value, expected++);
          EXPECT_EQ(got->missed, 0u);
        }
        return expected;
      }));
    }
    for (int i = 0; i < kCount; ++i) ch.Send(i);
    ch.Close();
    for (Task<int>& reader : readers) EXPECT_EQ(reader.Join(), kCount);
  });
}

TEST_P(BroadcastTest, ASlowReaderIsToldHowManyItMissed) {
  Here([] {
    for (int capacity : {1, 2, 3, 7}) {
      const auto ch = MakeBroadcast<int>(static_cast<std::size_t>(capacity));
      BroadcastReader<int> reader = ch.Subscribe();
      ch.Send(0);
      ExpectNext(reader, 0);
      for (int i = 1; i <= 10; ++i) ch.Send(i);
      EXPECT_EQ(reader.len(), static_cast<std::size_t>(capacity));
      const int oldest = 11 - capacity;
      ExpectNext(reader, oldest, static_cast<std::uint64_t>(oldest - 1));
      for (int i = oldest + 1; i <= 10; ++i) ExpectNext(reader, i);
      ExpectNothing(reader);
    }
  });
}

TEST_P(BroadcastTest, AReaderGetsWhatIsSentAfterItWasMade) {
  Here([] {
    const auto ch = MakeBroadcast<int>(4);
    ch.Send(1);
    BroadcastReader<int> reader = ch.Subscribe();
    ExpectNothing(reader);
    ch.Send(2);
    BroadcastReader<int> later = ch.Subscribe();
    ExpectNothing(later);
    EXPECT_EQ(reader.len(), 1u);
    ExpectNext(reader, 2);
    ch.Send(3);
    ExpectNext(reader, 3);
    ExpectNext(later, 3);
  });
}

TEST_P(BroadcastTest, ACopyOfAReaderGoesOnByItself) {
  Here([] {
    const auto ch = MakeBroadcast<int>(4);
    BroadcastReader<int> reader = ch.Subscribe();
    for (int i = 0; i < 3; ++i) ch.Send(i);
    ExpectNext(reader, 0);
    BroadcastReader<int> copy = reader;
    ExpectNext(reader, 1);
    ExpectNext(reader, 2);
    ExpectNext(copy, 1);
    ExpectNext(copy, 2);
    copy = {};
    EXPECT_TRUE(copy.is_nil());
    ExpectNothing(reader);
  });
}

// One sender numbers its values, so a reader can tell how many it should have missed. Readers of
// every kind keep their accounts while they are overtaken.
TEST_P(BroadcastTest, TheAccountsBalance) {
  Here([] {
    const std::uint64_t count = static_cast<std::uint64_t>(Rounds(20'000));
    for (std::size_t capacity : {1, 2, 16}) {
      const auto ch = MakeBroadcast<std::uint64_t>(capacity);
      using Item = std::optional<Delivery<std::uint64_t>>;
      const auto read = [count, capacity](BroadcastReader<std::uint64_t> reader, int way) {
        std::uint64_t next = 0;
        for (int round = 0;; ++round) {
          Item got;
          switch ((round + way) % 4) {
            case 0:
              got = reader.Recv();
              break;
            case 1:
              if (!reader.TryRecv(got)) continue;
              break;
            case 2:
              if (!reader.RecvFor(absl::Microseconds(round % 50), got)) continue;
              break;
            default:
              got = Select(
                  reader.OnRecv() >> [](Item item) { return item; },
                  OnTimeout(absl::Hours(1)) >> []() -> Item { throw std::logic_error("late"); });
          }
          if (!got) break;
          EXPECT_EQ(got->value, next + got->missed);
          next = got->value + 1;
          if (round % 7 == way) Yield();
        }
        EXPECT_EQ(next, count) << "of capacity " << capacity;
      };
      std::vector<Task<void>> readers;
      for (int way = 0; way < 4; ++way) readers.push_back(Go(read, ch.Subscribe(), way));
      std::thread thread(read, ch.Subscribe(), 0);
      for (std::uint64_t i = 0; i < count; ++i) {
        ch.Send(i);
        if (i % 16 == 0) Yield();
      }
      ch.Close();
      for (Task<void>& reader : readers) reader.Join();
      thread.join();
    }
  });
}

// The order is the same for all, and that of each sender.
TEST_P(BroadcastTest, ReadersAgreeOnTheOrderOfSeveralSenders) {
  Here([] {
    constexpr int kSenders = 3;
    const int count = Rounds(1'000);
    const auto ch = MakeBroadcast<int>(static_cast<std::size_t>(kSenders * count));
    std::vector<Task<std::vector<int>>> readers;
    for (int i = 0; i < 2; ++i) {
      readers.push_back(Go([reader = ch.Subscribe()]() mutable {
        std::vector<int> all;
        while (Got got = reader.Recv()) all.push_back(got->value);
        return all;
      }));
    }
    std::vector<Task<void>> senders;
    for (int s = 0; s < kSenders; ++s) {
      senders.push_back(Go([=] {
        for (int i = 0; i < count; ++i) ch.Send(i * kSenders + s);
      }));
    }
    for (Task<void>& sender : senders) sender.Join();
    ch.Close();
    const std::vector<int> first = readers[0].Join();
    EXPECT_EQ(first, readers[1].Join());
    EXPECT_EQ(first.size(), static_cast<std::size_t>(kSenders * count));
    int next[kSenders] = {};
    for (int v : first) ASSERT_EQ(v / kSenders, next[v % kSenders]++);
  });
}

// --- Closing.

TEST_P(BroadcastTest, CloseLetsEachReaderHaveWhatIsKept) {
  Here([] {
    const auto ch = MakeBroadcast<int>(2);
    BroadcastReader<int> reader = ch.Subscribe();
    for (int i = 0; i < 5; ++i) ch.Send(i);
    BroadcastReader<int> late = ch.Subscribe();
    ch.Close();
    EXPECT_EQ(reader.len(), 2u);
    ExpectNext(reader, 3, 3);
    ExpectNext(reader, 4);
    for (BroadcastReader<int> drained : {reader, late, ch.Subscribe()}) {
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(drained.Recv(), std::nullopt);
        Got got{{7, 7}};
        EXPECT_TRUE(drained.TryRecv(got));
        EXPECT_FALSE(got.has_value());
        got = {{7, 7}};
        EXPECT_TRUE(drained.RecvFor(absl::InfiniteDuration(), got));
        EXPECT_FALSE(got.has_value());
        EXPECT_FALSE(Select(drained.OnRecv()).has_value());
      }
    }
  });
}

TEST_P(BroadcastTest, CloseWakesAllWhoWait) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      const auto ch = MakeBroadcast<int>(1);
      std::vector<Task<bool>> readers;
      for (int i = 0; i < 4; ++i) {
        readers.push_back(Go([reader = ch.Subscribe()]() mutable { return !reader.Recv(); }));
      }
      for (int i = 0; i < round % 6; ++i) Yield();
      ch.Close();
      for (Task<bool>& reader : readers) EXPECT_TRUE(reader.Join());
    }
  });
}

TEST_P(BroadcastTest, ASendAfterCloseThrowsAndLeavesTheValue) {
  Here([] {
    const auto ch = MakeBroadcast<std::string>(1);
    ch.Close();
    std::string value = "a value that is too long to be stored in place";
    EXPECT_THROW(ch.Send(std::move(value)), ClosedChannel);
    EXPECT_THROW(ch.Send(std::as_const(value)), ClosedChannel);
    EXPECT_EQ(value.size(), 46u);
    EXPECT_THROW(ch.Close(), ClosedChannel);
  });
}

TEST_P(BroadcastTest, ErrorsNameTheCall) {
  Here([] {
    const auto message = [](const auto& f) -> std::string {
      try {
        f();
      } catch (const Panic& e) {
        return e.what();
      }
      return "";
    };
    const auto ch = MakeBroadcast<int>(1);
    ch.Close();
    EXPECT_EQ(message([&] { ch.Send(1); }).find("Broadcast::Send: the channel is closed"), 0u);
    EXPECT_EQ(message([&] { ch.Close(); }).find("Broadcast::Close: "), 0u);
    EXPECT_NE(message([] { Broadcast<int>().Send(1); }).find("MakeBroadcast"), std::string::npos);
    EXPECT_NE(message([] { BroadcastReader<int>().Recv(); }).find("Subscribe"), std::string::npos);
    EXPECT_EQ(message([] { (void)MakeBroadcast<int>(0); }).find("MakeBroadcast: "), 0u);
    EXPECT_THROW((void)MakeBroadcast<int>(0), InvalidArgument);
    EXPECT_THROW((void)MakeBroadcast<char>(SIZE_MAX), InvalidArgument);
    EXPECT_THROW((void)MakeBroadcast<char>(static_cast<std::size_t>(-1)), InvalidArgument);
  });
}

// --- Handles.

TEST_P(BroadcastTest, NilThrows) {
  Here([] {
    auto moved_from = MakeBroadcast<int>(1);
    const Broadcast<int> moved_to = std::move(moved_from);
    EXPECT_FALSE(moved_to.is_nil());
    for (const Broadcast<int>& nil :
         {Broadcast<int>(), moved_from}) {  // NOLINT(bugprone-use-after-move)
      EXPECT_TRUE(nil.is_nil());
      EXPECT_EQ(nil.capacity(), 0u);
      EXPECT_THROW(nil.Send(1), NilChannel);
      EXPECT_THROW(nil.Close(), NilChannel);
      EXPECT_THROW((void)nil.Subscribe(), NilChannel);
    }
    BroadcastReader<int> nil;
    Got got{{7, 7}};
    EXPECT_THROW(nil.Recv(), NilChannel);
    EXPECT_THROW((void)nil.TryRecv(got), NilChannel);
    EXPECT_THROW((void)nil.RecvFor(absl::ZeroDuration(), got), NilChannel);
    EXPECT_EQ(got->value, 7);
    EXPECT_EQ(nil.len(), 0u);
    EXPECT_THROW(Select(nil.OnRecv()), NoLiveCase);
    bool none = false;
    Select(
        nil.OnRecv() >> [](const Got&) { ADD_FAILURE(); }, Default >> [&] { none = true; });
    EXPECT_TRUE(none);
  });
}

TEST(BroadcastHandleTest, ComparesByChannel) {
  const auto a = MakeBroadcast<int>(1);
  const auto b = MakeBroadcast<int>(1);
  const auto copy = a;
  EXPECT_EQ(a, copy);
  EXPECT_NE(a, b);
  EXPECT_EQ(Broadcast<int>(), Broadcast<int>());
  EXPECT_NE(a, Broadcast<int>());
}

TEST_P(BroadcastTest, AReaderKeepsTheChannel) {
  Here([] {
    auto ch = MakeBroadcast<int>(2);
    BroadcastReader<int> reader = ch.Subscribe();
    ch.Send(1);
    ch = {};
    ExpectNext(reader, 1);
    ExpectNothing(reader);
  });
}

static_assert(std::is_nothrow_move_constructible_v<BroadcastReader<int>>);
static_assert(std::is_copy_assignable_v<BroadcastReader<int>>);
struct Recursive {
  Broadcast<Recursive> all;
  BroadcastReader<Recursive> reader;
};
static_assert(std::is_copy_constructible_v<Recursive>);

// --- Waiting, and giving up.

TEST_P(BroadcastTest, ALimitInTime) {
  Here([] {
    const auto ch = MakeBroadcast<int>(1);
    BroadcastReader<int> reader = ch.Subscribe();
    Got got{{7, 7}};
    EXPECT_FALSE(reader.RecvFor(absl::ZeroDuration(), got));
    EXPECT_FALSE(got.has_value());
    EXPECT_FALSE(reader.RecvFor(absl::Microseconds(100), got));
    ch.Send(1);
    EXPECT_TRUE(reader.RecvFor(-absl::Hours(1), got));
    EXPECT_EQ(got->value, 1);
    Task<void> sender = Go([ch] { ch.Send(2); });
    EXPECT_TRUE(reader.RecvFor(absl::InfiniteDuration(), got));
    EXPECT_EQ(got->value, 2);
    sender.Join();
  });
}

TEST_P(BroadcastTest, ACaseThatLosesKeepsItsPlace) {
  Here([] {
    const auto a = MakeBroadcast<int>(4);
    const auto b = MakeBroadcast<int>(4);
    BroadcastReader<int> from_a = a.Subscribe();
    BroadcastReader<int> from_b = b.Subscribe();
    int next_a = 0, next_b = 0;
    const auto take = [](int& next) {
      return [&next](Got got) {
        EXPECT_EQ(got->value, next++);
        EXPECT_EQ(got->missed, 0u);
      };
    };
    for (int round = 0; round < 20; ++round) {
      a.Send(round);
      b.Send(round);
      Select(from_a.OnRecv() >> take(next_a), from_b.OnRecv() >> take(next_b));
      EXPECT_EQ(next_a + next_b, 2 * round + 1);
      Select(from_a.OnRecv() >> take(next_a), from_b.OnRecv() >> take(next_b));
    }
    bool none = false;
    Select(
        from_a.OnRecv() >> [](const Got&) { ADD_FAILURE(); },
        from_b.OnRecv() >> [](const Got&) { ADD_FAILURE(); }, Default >> [&] { none = true; });
    EXPECT_TRUE(none);
  });
}

TEST_P(BroadcastTest, AWaitingSelectIsWoken) {
  Here([] {
    const auto ch = MakeBroadcast<int>(1);
    const auto acks = MakeChan<int>();
    const auto never = MakeChan<int>();
    Task<void> task = Go([=, reader = ch.Subscribe()]() mutable {
      for (bool open = true; open;) {
        Select(
            reader.OnRecv() >>
                [&](Got got) {
                  open = got.has_value();
                  if (got) acks.Send(got->value);
                },
            never.OnRecv() >> [](std::optional<int>) { ADD_FAILURE(); });
      }
    });
    for (int i = 0; i < Rounds(500); ++i) {
      ch.Send(i);
      ASSERT_EQ(acks.Recv(), i);
    }
    ch.Close();
    task.Join();
  });
}

TEST_P(BroadcastTest, AHandlerMayLetGoOfTheChannel) {
  Here([] {
    auto ch = MakeBroadcast<std::string>(1);
    BroadcastReader<std::string> reader = ch.Subscribe();
    ch.Send("there");
    std::string seen;
    const auto take_last = [&](std::optional<Delivery<std::string>> got) {
      reader = {};
      seen = got->value;
    };
    ch = {};
    Select(reader.OnRecv() >> take_last);
    EXPECT_EQ(seen, "there");

    ch = MakeBroadcast<std::string>(1);
    reader = ch.Subscribe();
    Task<void> sender = Go([ch = std::exchange(ch, {})] { ch.Send("to come"); });
    Select(
        reader.OnRecv() >> take_last, OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
    EXPECT_EQ(seen, "to come");
    sender.Join();
  });
}

TEST_P(BroadcastTest, ADumpSaysWhoWaits) {
  Here([] {
    const auto ch = MakeBroadcast<int>(1);
    Task<void> task = Go([reader = ch.Subscribe()]() mutable { reader.Recv(); });
    EXPECT_TRUE(EventuallyTrue(
        [] { return DumpFibers().find("parked in broadcast Recv on 0x") != std::string::npos; }));
    ch.Close();
    task.Join();
  });
}

// A wait that is cancelled has got the value, or has left it; and leaves no waiter behind.
TEST_P(BroadcastTest, CommitBeatsCancel) {
  Here([] {
    for (int round = 0; round < Rounds(500); ++round) {
      const auto ch = MakeBroadcast<int>(1);
      BroadcastReader<int> reader = ch.Subscribe();
      bool got = false;
      Task<void> task = Go([&] {
        if (round % 2 == 0) {
          got = reader.Recv().has_value();
        } else {
          Select(
              reader.OnRecv() >> [&](Got) { got = true; },
              OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
        }
      });
      for (int i = 0; i < round % 5; ++i) Yield();
      Task<void> sender = Go([&] { ch.Send(round); });
      task.Cancel();
      sender.Join();
      try {
        task.Join();
      } catch (const TaskCancelled&) {
      }
      Got left;
      EXPECT_NE(reader.TryRecv(left), got);
    }
  });
}

TEST_P(BroadcastTest, OfManyWaitersSomeAreCancelled) {
  Here([] {
    for (int round = 0; round < Rounds(50); ++round) {
      const auto ch = MakeBroadcast<int>(1);
      std::vector<Task<int>> waiters;
      for (int i = 0; i < 20; ++i) {
        waiters.push_back(Go([reader = ch.Subscribe()]() mutable { return reader.Recv()->value; }));
      }
      for (int i = 0; i < round % 30; ++i) Yield();
      for (std::size_t i = 0; i < waiters.size(); i += 2) waiters[i].Cancel();
      for (std::size_t i = 0; i < waiters.size(); i += 2) {
        EXPECT_THROW(waiters[i].Join(), TaskCancelled);
      }
      ch.Send(round);
      for (std::size_t i = 1; i < waiters.size(); i += 2) EXPECT_EQ(waiters[i].Join(), round);
    }
  });
}

}  // namespace
}  // namespace csp
