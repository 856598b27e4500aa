// Commit beats cancel, limit and close: each value is sent and received, or it is where it was. The
// sums are exact, whatever ends the waits.

#include <atomic>
#include <cstdint>
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

using ChanCommitTest = RuntimeTest;
CSP_INSTANTIATE(ChanCommitTest);

constexpr int kSenders = 3;
constexpr int kReceivers = 2;
constexpr int kValues = 40;  // of a round

// What has become of values, and of waits that came to nothing.
struct Tally {
  std::atomic<std::int64_t> sent{0}, sum_sent{0};
  std::atomic<std::int64_t> received{0}, sum_received{0};
  std::atomic<std::int64_t> cancelled{0}, late{0}, refused{0};
};

absl::Duration Limit(int i) { return absl::Microseconds(i % 13); }

// One try, in one of the ways there are; false if its limit has passed.
bool TrySend(const Chan<Counted>& ch, Counted& value, int way) {
  switch (way % 3) {
    case 0:
      ch.Send(std::move(value));
      return true;
    case 1:
      return ch.SendFor(Limit(way), std::move(value));
    default:
      return Select(
          ch.OnSend(std::move(value)) >> [] { return true; },
          OnTimeout(Limit(way)) >> [] { return false; });
  }
}

// One try; false if its limit has passed. True and nothing: closed and drained.
bool TryReceive(const Chan<Counted>& ch, std::optional<Counted>& value, int way) {
  value.reset();
  const auto take = [&](std::optional<Counted> got) {
    if (got.has_value()) value.emplace(std::move(*got));
    return true;
  };
  switch (way % 3) {
    case 0:
      return take(ch.Recv());
    case 1:
      return ch.RecvFor(Limit(way), value);
    default:
      return Select(
          ch.OnRecv() >> take, OnTimeout(Limit(way)) >> [] { return false; });
  }
}

// Sends the values that are left, until there are none, or the channel is closed.
void SendAll(const Chan<Counted>& ch, std::atomic<int>& next, Tally& tally) {
  for (int i = next++; i < kValues; i = next++) {
    Counted value(i);
    const auto expect_untouched = [&](std::atomic<std::int64_t>& count) {
      EXPECT_EQ(value.value(), i);
      ++count;
    };
    try {
      if (i % 3 == 0) Yield();
      for (int way = i; !TrySend(ch, value, way); ++way) expect_untouched(tally.late);
    } catch (const Cancelled&) {
      expect_untouched(tally.cancelled);
      throw;
    } catch (const ClosedChannel&) {
      return expect_untouched(tally.refused);
    }
    EXPECT_TRUE(value.empty());
    ++tally.sent;
    tally.sum_sent += i;
  }
}

// Until the channel is closed and drained.
void ReceiveAll(const Chan<Counted>& ch, Tally& tally) {
  std::optional<Counted> value;
  for (int way = 0;; ++way) {
    try {
      if (!TryReceive(ch, value, way)) {
        ++tally.late;
        continue;
      }
    } catch (const Cancelled&) {
      EXPECT_FALSE(value.has_value());
      ++tally.cancelled;
      throw;
    }
    if (!value.has_value()) return;
    ++tally.received;
    tally.sum_received += value->value();
  }
}

void JoinCancelled(Task<void>& task) {
  try {
    task.Join();
  } catch (const TaskCancelled&) {
  }
}

// Cancels one of `tasks` at some moment and puts another in its place.
template <class F>
void CancelOne(std::vector<Task<void>>& tasks, int which, const F& replacement) {
  Task<void>& victim = tasks[static_cast<std::size_t>(which) % tasks.size()];
  victim.Cancel();
  JoinCancelled(victim);
  victim = Go(replacement);
}

// Some values through one channel, while whatever can go wrong does.
void Round(int round, Tally& tally) {
  auto ch = MakeChan<Counted>(round % 3 == 2 ? 3 : round % 3);
  std::atomic<int> next{0};
  const auto send = [&] { SendAll(ch, next, tally); };
  const auto receive = [&] { ReceiveAll(ch, tally); };
  std::vector<Task<void>> senders, receivers;
  for (int i = 0; i < kSenders; ++i) senders.push_back(Go(send));
  for (int i = 0; i < kReceivers; ++i) receivers.push_back(Go(receive));
  const bool close_early = round % 16 == 0;
  for (int turn = round; next.load() < kValues; ++turn) {
    for (int i = 0; i < turn % 3; ++i) Yield();
    if (turn % 3 == 0) CancelOne(senders, turn, send);
    if (turn % 3 == 1) CancelOne(receivers, turn, receive);
    if (close_early && turn % 5 == 4) break;
  }
  if (close_early) ch.Close();
  for (Task<void>& sender : senders) JoinCancelled(sender);
  if (!close_early) ch.Close();
  for (Task<void>& receiver : receivers) JoinCancelled(receiver);
  ASSERT_EQ(ch.len(), 0u);
  ASSERT_EQ(Counted::live(), 0);
}

// Over all places some 10^5 values, as a soak test more than 10^7.
TEST_P(ChanCommitTest, NothingIsLostAndNothingTwice) {
  Here([this] {
    Tally tally;
    const int rounds = Rounds(700) * (kSoak ? 2 : 1);
    // A plain thread is too slow to be in time with everything.
    const auto all_happened = [&] {
      return on_plain_thread() ||
             (tally.sent > 0 && tally.cancelled > 0 && tally.late > 0 && tally.refused > 0);
    };
    for (int round = 0; round < rounds || !all_happened(); ++round) {
      Round(round, tally);
      ASSERT_EQ(tally.sent.load(), tally.received.load()) << "round " << round;
      ASSERT_EQ(tally.sum_sent.load(), tally.sum_received.load()) << "round " << round;
      if (testing::Test::HasFailure()) return;
    }
  });
}

}  // namespace
}  // namespace csp
