// An event of your own: a count that others bring down, and that can be waited for until it is zero.
//
// Whatever a fiber may wait for can be a case of a Select, with nothing but what csp offers to
// everybody. docs/select.md says what to keep to.
#include <cstdint>
#include <iostream>
#include <mutex>
#include <optional>

#include "csp/csp.h"

namespace {

class Countdown {
 public:
  class ZeroEvent;

  explicit Countdown(int count) : count_(count), summary_(count == 0 ? kZero : 0) {}

  void CountDown() {
    csp::WakeList wake;
    {
      const std::lock_guard lock(mu_);
      if (--count_ != 0) return;
      summary_.Set(kZero);
      wake.Claim(waiters_, true);
    }
    wake.WakeAll();
  }

  ZeroEvent OnZero();
  void Wait();

 private:
  static constexpr std::uint64_t kZero = 1;

  csp::ObjectLock mu_;
  int count_;             // under mu_, as the rest
  csp::Summary summary_;  // what a Select may know without the lock
  csp::WaitList waiters_;
};

class Countdown::ZeroEvent final : public csp::SelectEvent, public csp::Case {
 public:
  using Result = csp::Unit;

  explicit ZeroEvent(Countdown& countdown) : Case(&countdown.summary_, kZero), of_(countdown) {}

  bool Poll() override {
    const std::lock_guard lock(of_.mu_);
    return of_.count_ == 0;
  }
  csp::Arming Arm() override {
    const std::lock_guard lock(of_.mu_);
    if (of_.count_ == 0) return csp::Arming::kReady;
    of_.waiters_.PushBack(waiter);
    return csp::Arming::kArmed;
  }
  void Disarm() noexcept override {
    const std::lock_guard lock(of_.mu_);
    of_.waiters_.Remove(waiter);
  }
  Result Take() { return {}; }

  // For dumps: "parked in countdown Wait on 0x…".
  const csp::ParkReason& reason() const override {
    static constexpr csp::ParkReason kReason{"Wait", "countdown"};
    return kReason;
  }
  const void* object() const override { return &of_; }

 private:
  Countdown& of_;
};

Countdown::ZeroEvent Countdown::OnZero() { return ZeroEvent(*this); }

void Countdown::Wait() {
  ZeroEvent zero(*this);
  csp::Block(zero);
}

}  // namespace

int main() {
  return csp::Run([] {
    Countdown left(3);
    auto found = csp::MakeChan<int>();
    for (int i = 1; i <= 3; ++i) {
      csp::Go([&left, found, i] {
        found.Send(i * i);
        left.CountDown();
      });
    }

    int sum = 0;
    for (bool done = false; !done;) {
      csp::Select(
          found.OnRecv() >> [&](std::optional<int> square) { sum += *square; },
          left.OnZero() >> [&] { done = true; });
    }
    left.Wait();  // zero already
    std::cout << "the squares add up to " << sum << "\n";
  });
}

// Output:
// the squares add up to 14
