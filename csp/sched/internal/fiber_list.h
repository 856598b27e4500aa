// A FIFO of ready fibers, linked through the fibers themselves. Guarded by whoever owns it.
#ifndef CSP_SCHED_INTERNAL_FIBER_LIST_H_
#define CSP_SCHED_INTERNAL_FIBER_LIST_H_

#include <utility>

#include "csp/sched/internal/fiber.h"

namespace csp::internal {

class FiberList {
 public:
  bool empty() const { return first_ == nullptr; }

  void PushBack(Fiber* fiber) {
    fiber->next = nullptr;
    (last_ != nullptr ? last_->next : first_) = fiber;
    last_ = fiber;
  }

  // Null when empty.
  Fiber* PopFront() {
    Fiber* fiber = first_;
    if (fiber != nullptr) {
      first_ = fiber->next;
      if (first_ == nullptr) last_ = nullptr;
    }
    return fiber;
  }

 private:
  Fiber* first_ = nullptr;
  Fiber* last_ = nullptr;
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_FIBER_LIST_H_
