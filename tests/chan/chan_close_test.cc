// Close against those who wait: senders, receivers, selects, and cancellation at the same time.

#include <atomic>
#include <optional>
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

using ChanCloseTest = RuntimeTest;
CSP_INSTANTIATE(ChanCloseTest);

// What became of one operation.
enum class Outcome { kDone, kClosed, kCancelled };

template <class F>
Outcome OutcomeOf(F operation) {
  try {
    return operation() ? Outcome::kDone : Outcome::kClosed;
  } catch (const ClosedChannel&) {
    return Outcome::kClosed;
  } catch (const Cancelled&) {
    return Outcome::kCancelled;
  }
}

// Until `count` fibers have been about to wait; what they do then is up to the schedule.
void AwaitCount(const std::atomic<int>& started, int count) {
  while (started.load() < count) Yield();
  for (int i = 0; i < 10; ++i) Yield();
}

// C1: close wakes all who wait to send, and delivers nothing of theirs.
TEST_P(ChanCloseTest, WakesEverySender) {
  Here([] {
    for (int capacity : {0, 1, 3}) {
      constexpr int kSenders = 50;
      auto ch = MakeChan<Counted>(static_cast<std::size_t>(capacity));
      for (int i = 0; i < capacity; ++i) ch.Send(Counted(-1));
      std::atomic<int> started{0};
      std::vector<Task<void>> senders;
      for (int i = 0; i < kSenders; ++i) {
        senders.push_back(Go([ch, i, &started] {
          Counted value(i);
          ++started;
          const Outcome outcome = OutcomeOf([&] {
            switch (i % 3) {
              case 0:
                ch.Send(std::move(value));
                return true;
              case 1:
                return ch.SendFor(absl::Hours(1), std::move(value));
              default:
                Select(ch.OnSend(std::move(value)), OnTimeout(absl::Hours(1)));
                return true;
            }
          });
          EXPECT_EQ(outcome, Outcome::kClosed);
          EXPECT_EQ(value.value(), i);  // untouched
        }));
      }
      AwaitCount(started, kSenders);
      ch.Close();
      for (auto& sender : senders) sender.Join();
      for (int i = 0; i < capacity; ++i) EXPECT_EQ(ch.Recv()->value(), -1);
      EXPECT_FALSE(ch.Recv().has_value());
    }
    EXPECT_EQ(Counted::live(), 0);
  });
}

TEST_P(ChanCloseTest, WakesEveryReceiver) {
  Here([] {
    for (int capacity : {0, 1, 3}) {
      constexpr int kReceivers = 50;
      auto ch = MakeChan<Counted>(static_cast<std::size_t>(capacity));
      std::atomic<int> started{0};
      std::vector<Task<void>> receivers;
      for (int i = 0; i < kReceivers; ++i) {
        receivers.push_back(Go([ch, i, &started] {
          ++started;
          std::optional<Counted> out;
          switch (i % 4) {
            case 0:
              EXPECT_FALSE(ch.Recv().has_value());
              break;
            case 1:
              EXPECT_TRUE(ch.RecvFor(absl::Hours(1), out));
              EXPECT_FALSE(out.has_value());
              break;
            case 2:
              Select(
                  ch.OnRecv() >> [](std::optional<Counted> v) { EXPECT_FALSE(v.has_value()); },
                  OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
              break;
            default:
              for ([[maybe_unused]] Counted& v : ch) ADD_FAILURE();
          }
        }));
      }
      AwaitCount(started, kReceivers);
      ch.Close();
      for (auto& receiver : receivers) receiver.Join();
    }
  });
}

// A select that waits to send and to receive on the same channel learns of the close by one of the
// two, once.
TEST_P(ChanCloseTest, EndsASelectThatWaitsInBothDirections) {
  Here([] {
    for (int round = 0; round < Rounds(500); ++round) {
      auto ch = MakeChan<Counted>();
      Task<int> selecting = Go([ch] {
        Counted value(1);
        int ended = 0;
        const Outcome outcome = OutcomeOf([&] {
          Select(
              ch.OnSend(std::move(value)) >> [&] { ADD_FAILURE(); },
              ch.OnRecv() >> [&](std::optional<Counted> v) { ended += v.has_value() ? 100 : 1; });
          return true;
        });
        if (outcome == Outcome::kClosed) ++ended;
        EXPECT_EQ(value.value(), 1);
        return ended;
      });
      if (round % 2 == 0) Yield();
      ch.Close();
      ASSERT_EQ(selecting.Join(), 1);
    }
  });
}

// D6: after a close has ended a select, nothing of it is left in the other channels.
TEST_P(ChanCloseTest, OfOneChannelOfASelectLeavesTheOthersClean) {
  Here([] {
    for (int round = 0; round < Rounds(300); ++round) {
      std::vector<Chan<int>> chans;
      for (int i = 0; i < 8; ++i) chans.push_back(MakeChan<int>());
      Task<void> selecting = Go([chans] {
        const auto none = [](std::optional<int> v) { EXPECT_EQ(v, std::nullopt); };
        try {
          Select(
              chans[0].OnRecv() >> none, chans[1].OnRecv() >> none, chans[2].OnRecv() >> none,
              chans[3].OnRecv() >> none, chans[4].OnSend(1) >> [] { ADD_FAILURE(); },
              chans[5].OnSend(1) >> [] { ADD_FAILURE(); },
              chans[6].OnSend(1) >> [] { ADD_FAILURE(); },
              chans[7].OnSend(1) >> [] { ADD_FAILURE(); });
        } catch (const ClosedChannel&) {
        }
      });
      if (round % 3 != 0) Yield();
      const auto closed = static_cast<std::size_t>(round % 8);
      chans[closed].Close();
      selecting.Join();
      for (std::size_t i = 0; i < chans.size(); ++i) {
        if (i == closed) continue;
        std::optional<int> v;
        EXPECT_FALSE(chans[i].TryRecv(v));
        EXPECT_FALSE(chans[i].TrySend(1));
        // And a plain pair still meets there.
        Task<void> sender = Go([ch = chans[i]] { ch.Send(7); });
        EXPECT_EQ(chans[i].Recv(), 7);
        sender.Join();
      }
    }
  });
}

// C7: values in flight while the channel is closed are received, kept by their sender, or destroyed
// with the channel; none twice.
TEST_P(ChanCloseTest, AgainstSendersAndReceiversConservesEveryValue) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      const int kind = round % 4;
      {
        auto ch = kind == 0   ? MakeChan<Counted>()
                  : kind == 1 ? MakeChan<Counted>(1)
                  : kind == 2 ? MakeChan<Counted>(2)
                              : MakeChan<Counted>(kUnbounded);
        Task<int> sender = Go([ch] {
          int sent = 0;
          for (int i = 0; i < 3; ++i) {
            Counted value(i);
            const Outcome outcome = OutcomeOf([&] {
              ch.Send(std::move(value));
              return true;
            });
            EXPECT_EQ(value.empty(), outcome == Outcome::kDone);
            sent += outcome == Outcome::kDone ? 1 : 0;
          }
          return sent;
        });
        Task<int> receiver = Go([ch, round] {
          int received = 0;
          for (int i = 0; i < round % 5; ++i) received += ch.Recv().has_value() ? 1 : 0;
          return received;
        });
        for (int i = 0; i < round % 7; ++i) Yield();
        ch.Close();
        const int sent = sender.Join();
        const int received = receiver.Join();
        ASSERT_EQ(sent - received, static_cast<int>(ch.len()));
      }
      ASSERT_EQ(Counted::live(), 0);
    }
  });
}

// A plain wait is decided by a peer, by close and by a canceller, each from another thread. One
// of them does it.
TEST_P(ChanCloseTest, AgainstCancelEndsEachWaitOnce) {
  Here([] {
    constexpr int kWaiters = 32;
    for (int round = 0; round < Rounds(2'000); ++round) {
      auto ch = MakeChan<Counted>();
      auto never = MakeChan<Counted>();
      std::atomic<int> started{0};
      std::vector<Task<Outcome>> waiters;
      for (int i = 0; i < kWaiters; ++i) {
        waiters.push_back(Go([ch, never, i, round, &started] {
          ++started;
          return OutcomeOf([&] {
            Counted value(i);
            switch ((i + round) % 4) {
              case 0:
                return ch.Recv().has_value();
              case 1: {
                std::optional<Counted> out;
                return ch.RecvFor(absl::Hours(1), out) && out.has_value();
              }
              case 2:
                return Select(ch.OnRecv(), never.OnRecv()).has_value();
              default:
                ch.Send(std::move(value));
                return true;
            }
          });
        }));
      }
      Task<void> closer = Go([ch, &started] {
        while (started.load() < kWaiters) Yield();
        ch.Close();
      });
      while (started.load() < kWaiters) Yield();
      for (int i = 0; i < kWaiters; i += 2) waiters[static_cast<std::size_t>(i)].Cancel();
      closer.Join();
      int done = 0;
      for (auto& waiter : waiters) done += waiter.Join() == Outcome::kDone ? 1 : 0;
      ASSERT_EQ(done % 2, 0);  // they meet in pairs
      ASSERT_EQ(Counted::live(), 0);
    }
  });
}

// Closed by a plain thread while fibers wait, and the other way round.
TEST_P(ChanCloseTest, FromAPlainThread) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      auto ch = MakeChan<int>();
      std::vector<Task<void>> receivers;
      for (int i = 0; i < 4; ++i) {
        receivers.push_back(Go([ch] { EXPECT_EQ(ch.Recv(), std::nullopt); }));
      }
      std::thread([ch] { ch.Close(); }).join();
      for (auto& receiver : receivers) receiver.Join();

      auto other = MakeChan<int>();
      std::thread thread([other] { EXPECT_EQ(other.Recv(), std::nullopt); });
      other.Close();
      thread.join();
    }
  });
}

}  // namespace
}  // namespace csp
