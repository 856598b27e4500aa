// Random short histories of two channels are linearizable: there is an order of the operations,
// compatible with who was over before whom began, in which each does what a channel in one thread
// would have done.
//
// The checker is Wing and Gong's search with Lowe's memo (sets of linearized operations that have
// been tried from the same state). On an unbuffered channel a send and its receive are one step,
// which both operations must span. What fails for want of a partner there (Try, Default) is always
// allowed: whether a partner "waits" already is not to be seen from outside.

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

// --- Histories.

// What an operation has done, seen from outside.
enum class Did { kSent, kReceived, kDrained, kRefused, kNothing, kClosed };

struct Op {
  const char* call;
  int start;
  int end;
  Did did;
  int channel = 0;  // kSent, kReceived, kDrained, kClosed: where
  int value = 0;
  // kNothing: these sends and receives were not ready at one instant (bit = channel).
  // kRefused: one of these sends was.
  unsigned sends = 0;
  unsigned recvs = 0;
};

std::string Describe(const std::vector<Op>& history) {
  static constexpr const char* kDid[] = {"sent",    "received", "found drained",
                                         "refused", "nothing",  "closed"};
  std::ostringstream out;
  for (const Op& op : history) {
    out << "[" << op.start << "," << op.end << "] " << op.call << ": "
        << kDid[static_cast<int>(op.did)] << " " << op.value << " on " << op.channel << "\n";
  }
  return out.str();
}

// --- The specification.

constexpr int kChannels = 2;

struct State {
  std::deque<int> values[kChannels];
  bool closed[kChannels] = {};

  auto operator<=>(const State&) const = default;
  bool operator==(const State&) const = default;
};

class Checker {
 public:
  Checker(const std::vector<Op>& history, std::size_t capacity)
      : history_(history), capacity_(capacity) {}

  bool Linearizable() { return Search(0, State()); }

 private:
  bool Search(unsigned done, const State& state) {
    if (done == (1u << history_.size()) - 1) return true;
    if (!tried_.emplace(done, state).second) return false;
    // What began before all that is undone was over may come next.
    int first_end = INT32_MAX;
    ForEachUndone(done, [&](std::size_t, const Op& op) {
      first_end = std::min(first_end, op.end);
      return false;
    });
    return ForEachUndone(done, [&](std::size_t i, const Op& op) {
      if (op.start > first_end) return false;
      const unsigned with_op = done | 1u << i;
      if (capacity_ == 0 && (op.did == Did::kSent || op.did == Did::kReceived)) {
        if (op.did == Did::kReceived) return false;  // comes with its send
        if (state.closed[op.channel]) return false;
        return ForEachUndone(with_op, [&](std::size_t j, const Op& other) {
          return other.did == Did::kReceived && other.channel == op.channel &&
                 other.value == op.value && other.start <= first_end &&
                 Search(with_op | 1u << j, state);
        });
      }
      State next = state;
      return Apply(op, next) && Search(with_op, next);
    });
  }

  template <class F>
  bool ForEachUndone(unsigned done, F f) {
    for (std::size_t i = 0; i < history_.size(); ++i) {
      if ((done >> i & 1) == 0 && f(i, history_[i])) return true;
    }
    return false;
  }

  // What one thread would see; false if not this.
  bool Apply(const Op& op, State& state) const {
    std::deque<int>& values = state.values[op.channel];
    bool& closed = state.closed[op.channel];
    switch (op.did) {
      case Did::kSent:
        if (closed || values.size() >= capacity_) return false;
        values.push_back(op.value);
        return true;
      case Did::kReceived:
        if (values.empty() || values.front() != op.value) return false;
        values.pop_front();
        return true;
      case Did::kDrained:
        return closed && values.empty();
      case Did::kRefused:
        for (int c = 0; c < kChannels; ++c) {
          if ((op.sends >> c & 1) != 0 && state.closed[c]) return true;
        }
        return false;
      case Did::kClosed:
        return !std::exchange(closed, true);
      case Did::kNothing:
        for (int c = 0; c < kChannels; ++c) {
          const bool full = state.values[c].size() >= capacity_;
          if ((op.sends >> c & 1) != 0 && (state.closed[c] || !full)) return false;
          if ((op.recvs >> c & 1) != 0 && (state.closed[c] || !state.values[c].empty())) {
            return false;
          }
        }
        return true;
    }
    return false;
  }

  const std::vector<Op>& history_;
  const std::size_t capacity_;
  std::set<std::pair<unsigned, State>> tried_;
};

// The checker itself finds what is wrong.
TEST(LinearCheckerTest, TellsRightFromWrong) {
  const auto linear = [](std::size_t capacity, std::vector<Op> history) {
    return Checker(history, capacity).Linearizable();
  };
  const auto sent = [](int start, int end, int v) {
    return Op{"Send", start, end, Did::kSent, 0, v};
  };
  const auto received = [](int start, int end, int v) {
    return Op{"Recv", start, end, Did::kReceived, 0, v};
  };
  EXPECT_TRUE(linear(1, {sent(0, 1, 7), received(2, 3, 7)}));
  EXPECT_FALSE(linear(0, {sent(0, 1, 7), received(2, 3, 7)}));
  EXPECT_TRUE(linear(0, {sent(0, 2, 7), received(1, 3, 7)}));
  EXPECT_FALSE(linear(1, {sent(0, 1, 7), received(2, 3, 8)}));
  EXPECT_FALSE(linear(1, {sent(0, 1, 7), sent(2, 3, 8), received(4, 5, 7)}));
  EXPECT_FALSE(linear(2, {sent(0, 1, 7), sent(2, 3, 8), received(4, 5, 8)}));
  EXPECT_TRUE(linear(2, {sent(0, 3, 7), sent(1, 2, 8), received(4, 5, 8)}));
  EXPECT_FALSE(linear(1, {received(0, 1, 7), sent(2, 3, 7)}));
  EXPECT_FALSE(linear(1, {sent(0, 1, 7), {"TryRecv", 2, 3, Did::kNothing, 0, 0, 0, 1}}));
  EXPECT_TRUE(linear(1, {sent(0, 2, 7), {"TryRecv", 1, 3, Did::kNothing, 0, 0, 0, 1}}));
  EXPECT_FALSE(linear(1, {{"Close", 0, 1, Did::kClosed}, sent(2, 3, 1)}));
  EXPECT_FALSE(linear(1, {{"Recv", 0, 1, Did::kDrained}, {"Close", 2, 3, Did::kClosed}}));
}

// --- Making histories.

// An operation, drawn beforehand.
struct Plan {
  int kind;
  int a, b;  // channels
  int v, w;  // values, each in one plan only
  int yields;
};

Plan Draw(std::mt19937& random, int& last_value) {
  Plan plan;
  plan.kind = static_cast<int>(random() % 10);
  plan.a = static_cast<int>(random() % kChannels);
  plan.b = static_cast<int>(random() % kChannels);
  plan.v = ++last_value;
  plan.w = ++last_value;
  plan.yields = static_cast<int>(random() % 3);
  return plan;
}

void Sent(Op& op, int channel, int value) {
  op.did = Did::kSent;
  op.channel = channel;
  op.value = value;
}

void Received(Op& op, int channel, std::optional<int> v) {
  op.did = v.has_value() ? Did::kReceived : Did::kDrained;
  op.channel = channel;
  op.value = v.value_or(0);
}

void Perform(const Plan& plan, const std::vector<Chan<int>>& channels, Op& op) {
  const int a = plan.a, b = plan.b;
  const Chan<int>& on_a = channels[static_cast<std::size_t>(a)];
  const Chan<int>& on_b = channels[static_cast<std::size_t>(b)];
  const auto sent_a = [&] { Sent(op, a, plan.v); };
  const auto sent_b = [&] { Sent(op, b, plan.w); };
  const auto received_a = [&](std::optional<int> got) { Received(op, a, got); };
  const auto received_b = [&](std::optional<int> got) { Received(op, b, got); };
  std::optional<int> got;
  op.did = Did::kNothing;
  switch (plan.kind) {
    case 0:
      op.call = "Send";
      op.sends = 1u << a;
      on_a.Send(plan.v);
      sent_a();
      break;
    case 1:
      op.call = "TrySend";
      op.sends = 1u << a;
      if (on_a.TrySend(plan.v)) sent_a();
      break;
    case 2:
      op.call = "SendFor";
      op.sends = 1u << a;
      if (on_a.SendFor(absl::Hours(1), plan.v)) sent_a();
      break;
    case 3:
      op.call = "Recv";
      received_a(on_a.Recv());
      break;
    case 4:
      op.call = "TryRecv";
      op.recvs = 1u << a;
      if (on_a.TryRecv(got)) received_a(got);
      break;
    case 5:
      op.call = "Select{recv, recv}";
      Select(on_a.OnRecv() >> received_a, on_b.OnRecv() >> received_b);
      break;
    case 6:
      op.call = "Select{send, recv}";
      op.sends = 1u << a;
      Select(on_a.OnSend(plan.v) >> sent_a, on_b.OnRecv() >> received_b);
      break;
    case 7:
      op.call = "Select{send, send}";
      op.sends = 1u << a | 1u << b;
      Select(on_a.OnSend(plan.v) >> sent_a, on_b.OnSend(plan.w) >> sent_b);
      break;
    case 8:
      op.call = "Select{send, recv, Default}";
      op.sends = 1u << a;
      op.recvs = 1u << b;
      Select(on_a.OnSend(plan.v) >> sent_a, on_b.OnRecv() >> received_b, Default);
      break;
    default:
      op.call = "Select{recv, recv, Default}";
      op.recvs = 1u << a | 1u << b;
      Select(on_a.OnRecv() >> received_a, on_b.OnRecv() >> received_b, Default);
  }
}

// Runs actors side by side and returns what they saw. After a while the channels are closed, so
// everybody comes to an end.
class Play {
 public:
  explicit Play(std::size_t capacity) {
    for (int c = 0; c < kChannels; ++c) {
      channels_.push_back(capacity == SIZE_MAX ? MakeChan<int>(kUnbounded)
                                               : MakeChan<int>(capacity));
    }
  }

  std::vector<Op> Run(const std::vector<std::vector<Plan>>& actors, int patience, bool threads) {
    std::vector<std::vector<Op>> seen(actors.size());
    std::atomic<std::size_t> ready{0};
    const auto act = [&](std::size_t actor) {
      ++ready;
      while (ready.load() < actors.size()) Yield();
      for (const Plan& plan : actors[actor]) {
        for (int i = 0; i < plan.yields; ++i) Yield();
        Op op{};
        op.start = clock_.fetch_add(1);
        try {
          Perform(plan, channels_, op);
        } catch (const ClosedChannel&) {
          op.did = Did::kRefused;
        }
        op.end = clock_.fetch_add(1);
        seen[actor].push_back(op);
      }
    };
    std::vector<std::thread> started_threads;
    std::vector<Task<void>> tasks;
    for (std::size_t i = 0; i < actors.size(); ++i) {
      if (threads) {
        started_threads.emplace_back(act, i);
      } else {
        tasks.push_back(Go(act, i));
      }
    }
    while (ready.load() < actors.size()) Yield();
    for (int i = 0; i < patience; ++i) Yield();
    std::vector<Op> history;
    for (int c = 0; c < kChannels; ++c) {
      Op op{"Close", clock_.fetch_add(1), 0, Did::kClosed, c};
      channels_[static_cast<std::size_t>(c)].Close();
      op.end = clock_.fetch_add(1);
      history.push_back(op);
    }
    for (std::thread& thread : started_threads) thread.join();
    for (Task<void>& task : tasks) task.Join();
    for (const std::vector<Op>& ops : seen) history.insert(history.end(), ops.begin(), ops.end());
    return history;
  }

 private:
  std::vector<Chan<int>> channels_;
  std::atomic<int> clock_{0};
};

using ChanLinearTest = RuntimeTest;
CSP_INSTANTIATE(ChanLinearTest);

TEST_P(ChanLinearTest, RandomHistories) {
  Here([this] {
    const int count = Rounds(on_plain_thread() ? 150 : 1'500);
    for (std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{2}, SIZE_MAX}) {
      for (int seed = 0; seed < count; ++seed) {
        std::mt19937 random(static_cast<unsigned>(seed));
        std::vector<std::vector<Plan>> actors(2 + random() % 2);
        int last_value = 0;
        for (std::vector<Plan>& plans : actors) {
          for (int i = 0; i < 3; ++i) plans.push_back(Draw(random, last_value));
        }
        const int patience = static_cast<int>(random() % 20);
        const std::vector<Op> history =
            Play(capacity).Run(actors, patience, /*threads=*/on_plain_thread() && seed % 2 == 0);
        ASSERT_TRUE(Checker(history, capacity).Linearizable())
            << "capacity " << capacity << ", seed " << seed << "\n"
            << Describe(history);
      }
    }
  });
}

}  // namespace
}  // namespace csp
