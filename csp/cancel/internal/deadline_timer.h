// The timer of a node that has a deadline of its own.
//
// Lifetime: the node and the timer know each other and do not keep each other: a node that nobody
// uses any more goes, with its timer, before the deadline has come. So what fires must ask for a
// reference, under the lock under which the node, as it goes, cuts the tie.
#ifndef CSP_CANCEL_INTERNAL_DEADLINE_TIMER_H_
#define CSP_CANCEL_INTERNAL_DEADLINE_TIMER_H_

#include <exception>

#include "csp/time/internal/timed_task.h"

namespace csp::internal {

class CancelNode;

class DeadlineTimer final : public TimedTask {
 public:
  explicit DeadlineTimer(CancelNode& node) : TimedTask("deadline", nullptr), node_(&node) {}

  // The node goes; it does not use the timer afterwards.
  void Leave();

 private:
  void Run() noexcept override;
  // Without a stack: setting a node suspends nobody, so it can be done right there.
  void Fail(std::exception_ptr error) noexcept override;
  void Finished() noexcept override { EndRun(); }
  void SetNode();

  SpinLock tie_mu_{LockRank::kObject};
  CancelNode* node_;  // under tie_mu_; null: gone
};

}  // namespace csp::internal

#endif  // CSP_CANCEL_INTERNAL_DEADLINE_TIMER_H_
