// A deadline as a claimer: a timer that decides a wait when it fires. In the waiter's frame.
#ifndef CSP_SELECT_WAIT_TIMER_H_
#define CSP_SELECT_WAIT_TIMER_H_

#include <cstdint>

#include "csp/sched/timer.h"
#include "csp/select/waiter.h"

namespace csp::internal {

class WaitTimer final : public Timer {
 public:
  explicit WaitTimer(Waiter& waiter) : waiter_(waiter) {}

  // As Timer's: Arm(deadline), Disarm(). After Disarm nothing of the timer is reachable.

 private:
  Fired Fire() noexcept override {
    if (!waiter_.TryClaim()) return {};
    return {const_cast<Parker*>(waiter_.parker()), nullptr};
  }

  Waiter& waiter_;
};

}  // namespace csp::internal

#endif  // CSP_SELECT_WAIT_TIMER_H_
