// Events of a user's own, written with the public interface of csp/select alone.

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "csp/select/block.h"
#include "csp/select/case.h"
#include "csp/select/select_event.h"
#include "csp/select/summary.h"
#include "csp/select/wait_list.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

// A gate that lets `Open(n)` through n times. Each passage has a number, the event's result.
class Gate {
 public:
  class PassEvent;

  void Open(int passages) {
    std::vector<Waiter*> served;
    {
      const std::lock_guard lock(mu_);
      for (; passages > 0; --passages) {
        Waiter* waiter = waiters_.PopClaimed();
        if (waiter == nullptr) break;
        *static_cast<int*>(waiter->slot) = ++passed_;
        served.push_back(waiter);
      }
      open_ += passages;
      summary_.Set(open_ > 0 ? kOpen : 0);
    }
    for (Waiter* waiter : served) waiter->Wake();
  }

  PassEvent OnPass();

  void Link(Waiter& waiter) {
    const std::lock_guard lock(mu_);
    waiters_.PushBack(waiter);
  }
  void Unlink(Waiter& waiter) {
    const std::lock_guard lock(mu_);
    waiters_.Remove(waiter);
  }
  bool nobody_waits() const {
    const std::lock_guard lock(mu_);
    return waiters_.empty();
  }
  int passed() const {
    const std::lock_guard lock(mu_);
    return passed_;
  }

 private:
  static constexpr std::uint64_t kOpen = 1;

  mutable std::mutex mu_;
  Summary summary_;
  WaitList waiters_;
  int open_ = 0;
  int passed_ = 0;
};

class Gate::PassEvent final : public SelectEvent, public Case {
 public:
  using Result = int;

  explicit PassEvent(Gate& gate) : Case(&gate.summary_, kOpen), gate_(gate) {}

  bool Poll() override {
    const std::lock_guard lock(gate_.mu_);
    if (gate_.open_ == 0) return false;
    --gate_.open_;
    number_ = ++gate_.passed_;
    gate_.summary_.Set(gate_.open_ > 0 ? kOpen : 0);
    return true;
  }
  Arming Arm() override {
    const std::lock_guard lock(gate_.mu_);
    if (gate_.open_ > 0) return Arming::kReady;
    waiter.slot = &number_;
    gate_.waiters_.PushBack(waiter);
    return Arming::kArmed;
  }
  void Disarm() noexcept override {
    const std::lock_guard lock(gate_.mu_);
    gate_.waiters_.Remove(waiter);
  }
  int Take() { return number_; }

  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Pass", "gate"};
    return kReason;
  }
  const void* object() const override { return &gate_; }

 private:
  Gate& gate_;
  int number_ = 0;
};

Gate::PassEvent Gate::OnPass() { return PassEvent(*this); }

static_assert(EventType<Gate::PassEvent>);

using UserEventTest = RuntimeTest;
CSP_INSTANTIATE(UserEventTest);

TEST_P(UserEventTest, PassesWhenOpen) {
  Here([] {
    Gate gate;
    gate.Open(2);
    EXPECT_EQ(Select(gate.OnPass()), 1);
    EXPECT_EQ(Select(gate.OnPass() >> [](int number) { return number; }), 2);
    EXPECT_EQ(Select(
                  gate.OnPass(), Default >> [] { return -1; }),
              -1);
  });
}

TEST_P(UserEventTest, WaitsUntilItIsOpened) {
  Here([] {
    Gate gate;
    for (int i = 1; i <= Rounds(1'000); ++i) {
      Task<void> opener = Go([&] { gate.Open(1); });
      ASSERT_EQ(Select(gate.OnPass()), i);
      opener.Join();
    }
  });
}

// Exactly as many pass as it was opened for, each with a number of its own, whatever else their
// selects wait for.
TEST_P(UserEventTest, EachPassageIsForOne) {
  Here([] {
    constexpr int kWaiters = 6;
    const int passages = Rounds(6'000);
    Gate gate;
    auto other = MakeChan<int>();
    Event over;
    std::vector<Task<std::pair<int, long>>> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.push_back(Go([&] {
        std::pair<int, long> seen;  // how many, their sum
        for (bool go_on = true; go_on;) {
          PriSelect(
              gate.OnPass() >>
                  [&](int number) {
                    ++seen.first;
                    seen.second += number;
                  },
              other.OnRecv() >> [](std::optional<int>) {}, over.OnWait() >> [&] { go_on = false; });
        }
        return seen;
      }));
    }
    for (int left = passages; left > 0;) {
      const int some = std::min(left, left % 5 + 1);
      gate.Open(some);
      left -= some;
      if (left % 3 == 0) other.Send(left);
    }
    over.Set();
    int count = 0;
    long sum = 0;
    for (auto& waiter : waiters) {
      const auto [passed, numbers] = waiter.Join();
      count += passed;
      sum += numbers;
    }
    EXPECT_EQ(count, passages);
    EXPECT_EQ(gate.passed(), passages);
    EXPECT_EQ(sum, long{passages} * (passages + 1) / 2);
  });
}

// --- An event that has no summary, and one that refuses.

// Ready from the `ready_at`th look on; counts the looks.
class Shy final : public SelectEvent, public Case {
 public:
  using Result = int;

  Shy(int ready_at, int& looks) : Case(Kind::kAsk), ready_at_(ready_at), looks_(looks) {}

  bool Poll() override { return ++looks_ >= ready_at_; }
  Arming Arm() override { return Arming::kArmed; }
  void Disarm() noexcept override {}
  int Take() { return looks_; }

  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Look", "test"};
    return kReason;
  }
  const void* object() const override { return this; }

 private:
  const int ready_at_;
  int& looks_;
};

TEST_P(UserEventTest, WithoutASummaryIsAsked) {
  Here([] {
    int looks = 0;
    EXPECT_EQ(Select(Shy(1, looks)), 1);
    looks = 0;
    auto ch = MakeChan<int>(1);
    ch.Send(7);
    // Not ready: the channel wins, and the default where there is no channel.
    EXPECT_EQ(Select(
                  Shy(INT32_MAX, looks), ch.OnRecv() >> [](std::optional<int> v) { return *v; }),
              7);
    looks = 0;
    EXPECT_EQ(Select(
                  Shy(INT32_MAX, looks), Default >> [] { return -1; }),
              -1);
    EXPECT_EQ(looks, 1);  // one case and a Default: one look is exact
    looks = 0;
    EXPECT_EQ(Select(
                  Shy(INT32_MAX, looks), ch.OnRecv() >> [](std::optional<int> v) { return *v; },
                  Default >> [] { return -1; }),
              -1);
    EXPECT_EQ(looks, 1);  // a second look would prove no more: it is armed
  });
}

// Wakes a waiter whose case then refuses: the select begins anew, with all its cases.
class Knock {
 public:
  void Do() {
    Waiter* waiter;
    {
      const std::lock_guard lock(mu_);
      waiter = waiters_.PopClaimed();
    }
    if (waiter != nullptr) waiter->Wake();
  }
  bool waited_for() const {
    const std::lock_guard lock(mu_);
    return !waiters_.empty();
  }

  class KnockEvent final : public SelectEvent, public Case {
   public:
    using Result = int;
    KnockEvent(Knock& knock, int refusals) : Case(Kind::kAsk), knock_(knock), refusals_(refusals) {}
    bool Poll() override { return false; }
    Arming Arm() override {
      const std::lock_guard lock(knock_.mu_);
      knock_.waiters_.PushBack(waiter);
      return Arming::kArmed;
    }
    void Disarm() noexcept override {
      const std::lock_guard lock(knock_.mu_);
      knock_.waiters_.Remove(waiter);
    }
    bool Accept() override { return refused_++ == refusals_; }
    int Take() { return refused_; }
    const ParkReason& reason() const override {
      static constexpr ParkReason kReason{"Knock", "test"};
      return kReason;
    }
    const void* object() const override { return &knock_; }

   private:
    Knock& knock_;
    const int refusals_;
    int refused_ = 0;
  };

 private:
  mutable std::mutex mu_;
  WaitList waiters_;
};

TEST_P(UserEventTest, MayRefuseAndThenTheSelectBeginsAnew) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      Knock knock;
      auto ch = MakeChan<int>();
      Task<int> selecting = Go([&] {
        return Select(
            Knock::KnockEvent(knock, 3), ch.OnRecv() >> [](std::optional<int> v) { return *v; });
      });
      const int knocks = round % 2 == 0 ? 4 : 2;
      for (int i = 0; i < knocks; ++i) {
        while (!knock.waited_for()) Yield();
        knock.Do();
      }
      if (knocks < 4) ch.Send(-7);  // after refusals the other case still is there
      EXPECT_EQ(selecting.Join(), knocks < 4 ? -7 : 4);
    }
  });
}

// --- An event that cannot be armed.

struct NoRoom {};

// Its Arm throws, before or after it has linked its waiter.
class Broken final : public SelectEvent, public Case {
 public:
  using Result = Unit;

  Broken(Gate& gate, bool linked) : Case(Kind::kAsk), gate_(gate), linked_(linked) {}

  bool Poll() override { return false; }
  Arming Arm() override {
    if (linked_) gate_.Link(waiter);
    throw NoRoom();
  }
  void Disarm() noexcept override { gate_.Unlink(waiter); }
  Unit Take() { return {}; }
  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Break", "test"};
    return kReason;
  }
  const void* object() const override { return this; }

 private:
  Gate& gate_;
  const bool linked_;
};

// The channels and the gate work as if nobody had ever waited.
void ExpectNobodyWaits(Gate& gate, const Chan<int>& in, const Chan<int>& out) {
  EXPECT_TRUE(gate.nobody_waits());
  EXPECT_FALSE(in.TrySend(1));
  std::optional<int> value;
  EXPECT_FALSE(out.TryRecv(value));
  Task<void> sender = Go([in] { in.Send(2); });
  EXPECT_EQ(in.Recv(), 2);
  sender.Join();
}

TEST_P(UserEventTest, ThatCannotBeArmedLeavesNothingBehind) {
  Here([] {
    Gate gate;
    const Chan<int> in = MakeChan<int>();
    const Chan<int> out = MakeChan<int>();
    const auto ignore = [](std::optional<int>) {};
    for (int i = 0; i < Rounds(200); ++i) {
      const bool linked = i % 2 == 0;
      const auto broken = [&] { return Broken(gate, linked); };
      // Fair selects begin to arm anywhere.
      EXPECT_THROW(Select(broken(), in.OnRecv() >> ignore, out.OnSend(3), gate.OnPass() >> ignore),
                   NoRoom);
      EXPECT_THROW(PriSelect(broken(), in.OnRecv() >> ignore, out.OnSend(3)), NoRoom);
      EXPECT_THROW(PriSelect(in.OnRecv() >> ignore, broken(), out.OnSend(3)), NoRoom);
      EXPECT_THROW(PriSelect(in.OnRecv() >> ignore, out.OnSend(3), broken()), NoRoom);
      EXPECT_THROW(PriSelect(in.OnRecv() >> ignore, OnTimeout(absl::Hours(1)), broken()), NoRoom);
      Broken alone(gate, linked);
      EXPECT_THROW(Block(alone), NoRoom);
    }
    EXPECT_EQ(GetStats().timers, 0U);
    ExpectNobodyWaits(gate, in, out);
  });
}

// A value that comes while the select is being armed either is received or stays with its sender.
TEST_P(UserEventTest, ThatCannotBeArmedLosesNoValue) {
  Here([] {
    Gate gate;
    const Chan<int> ch = MakeChan<int>();
    const int count = Rounds(2'000);
    Task<void> sender = Go([=] {
      for (int i = 0; i < count; ++i) ch.Send(i);
      ch.Close();
    });
    int next = 0;
    for (bool open = true; open;) {
      try {
        PriSelect(
            ch.OnRecv() >>
                [&](std::optional<int> value) {
                  open = value.has_value();
                  EXPECT_EQ(value.value_or(next), next);
                  if (open) ++next;
                },
            Broken(gate, false));
      } catch (const NoRoom&) {
        Yield();
      }
    }
    EXPECT_EQ(next, count);
    sender.Join();
  });
}

// The wait is decided by an earlier case when a later one fails.
TEST_P(UserEventTest, ThatCannotBeArmedChangesNothingAnyMore) {
  class Closing final : public SelectEvent, public Case {
   public:
    using Result = int;
    explicit Closing(const Chan<int>& ch) : Case(Kind::kAsk), ch_(ch) {}
    bool Poll() override { return false; }
    Arming Arm() override {
      EXPECT_TRUE(ch_.TrySend(8));  // to the very select that this belongs to
      throw NoRoom();
    }
    void Disarm() noexcept override {}
    int Take() { return 0; }
    const ParkReason& reason() const override {
      static constexpr ParkReason kReason{"Close", "test"};
      return kReason;
    }
    const void* object() const override { return this; }

   private:
    const Chan<int>& ch_;
  };
  Here([] {
    const Chan<int> ch = MakeChan<int>();
    EXPECT_EQ(PriSelect(
                  ch.OnRecv() >> [](std::optional<int> value) { return *value; }, Closing(ch)),
              8);
  });
}

}  // namespace
}  // namespace csp
