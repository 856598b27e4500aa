// Events of a user's own, written with the public interface of csp/select alone.

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "csp/csp.h"
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

  const internal::ParkReason& reason() const override {
    static constexpr internal::ParkReason kReason{"Pass", "gate"};
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

  const internal::ParkReason& reason() const override {
    static constexpr internal::ParkReason kReason{"Look", "test"};
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
    const internal::ParkReason& reason() const override {
      static constexpr internal::ParkReason kReason{"Knock", "test"};
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

}  // namespace
}  // namespace csp
