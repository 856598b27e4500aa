// A moment of a user's own: what comes by itself, and loses to any event.

#include <cstdint>
#include <mutex>

#include "csp/csp.h"
#include "csp/select/case.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_list.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using UserMomentTest = RuntimeTest;
CSP_INSTANTIATE(UserMomentTest);

// A moment that comes when somebody says so; counts what the select does with it.
class Dawn {
 public:
  // Whoever is in `wake` afterwards is to be woken.
  void Come(WakeList& wake) {
    const std::lock_guard lock(mu_);
    come_ = true;
    wake.Claim(waiters_, true);
  }
  bool waited_for() const {
    const std::lock_guard lock(mu_);
    return !waiters_.empty();
  }

  class DawnEvent final : public SelectEvent, public Case {
   public:
    using Result = Unit;
    DawnEvent(Dawn& dawn, std::int64_t moment) : Case(Kind::kLast), dawn_(dawn), moment_(moment) {}
    bool Poll() override {
      const std::lock_guard lock(dawn_.mu_);
      dawn_.taken_ += dawn_.come_ ? 1 : 0;
      return dawn_.come_;
    }
    Arming Arm() override {
      const std::lock_guard lock(dawn_.mu_);
      if (dawn_.come_) return Arming::kReady;
      dawn_.waiters_.PushBack(waiter);
      return Arming::kArmed;
    }
    void Disarm() noexcept override {
      const std::lock_guard lock(dawn_.mu_);
      ++dawn_.disarmed_;
      dawn_.waiters_.Remove(waiter);
    }
    bool Accept() override {
      const std::lock_guard lock(dawn_.mu_);
      ++dawn_.taken_;
      return true;
    }
    std::int64_t moment() const override { return moment_; }
    Unit Take() { return {}; }
    const ParkReason& reason() const override {
      static constexpr ParkReason kReason{"Dawn", "test"};
      return kReason;
    }
    const void* object() const override { return &dawn_; }

   private:
    Dawn& dawn_;
    const std::int64_t moment_;
  };

  int taken() const { return taken_; }
  int disarmed() const { return disarmed_; }

 private:
  mutable ObjectLock mu_;
  WaitList waiters_;
  bool come_ = false;
  int taken_ = 0;
  int disarmed_ = 0;
};

// Whoever is returned has been taken, and nobody else.
TEST_P(UserMomentTest, OfEqualMomentsTheFirstWrittenIsTaken) {
  Here([] {
    for (const bool equal : {true, false}) {
      Dawn first, second;
      const std::int64_t moment = 7;
      Task<int> selecting = Go([&] {
        return Select(
            Dawn::DawnEvent(first, equal ? moment : moment + 1) >> [] { return 1; },
            Dawn::DawnEvent(second, moment) >> [] { return 2; });
      });
      while (!first.waited_for() || !second.waited_for()) Yield();
      // The second claims the select, and both have come when it runs on.
      WakeList wake;
      second.Come(wake);
      first.Come(wake);
      wake.WakeAll();
      EXPECT_EQ(selecting.Join(), equal ? 1 : 2);
      EXPECT_EQ(first.taken(), equal ? 1 : 0);
      EXPECT_EQ(second.taken(), equal ? 0 : 1);
      EXPECT_EQ(second.disarmed(), equal ? 1 : 0);
    }
  });
}

}  // namespace
}  // namespace csp
