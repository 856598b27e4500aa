#include "csp/cancel/internal/deadline_timer.h"

#include <mutex>

#include "csp/cancel/internal/cancel_node.h"
#include "csp/cls/fiber_locals.h"
#include "csp/select/blocking.h"

namespace csp::internal {

void DeadlineTimer::Leave() {
  {
    const std::lock_guard lock(tie_mu_);
    node_ = nullptr;
  }
  Stop();
  Release();
}

void DeadlineTimer::Run() noexcept {
  SetNode();
  const Shield shield;
  DestroyFiberLocals();  // what callbacks have made
}

void DeadlineTimer::Fail(std::exception_ptr) noexcept { SetNode(); }

void DeadlineTimer::SetNode() {
  CancelNode::Ref node;
  {
    const std::lock_guard lock(tie_mu_);
    if (node_ != nullptr && node_->TryAddReference()) node = CancelNode::Ref(node_);
  }
  if (node) node->Cancel(node->at_deadline());
}

}  // namespace csp::internal
