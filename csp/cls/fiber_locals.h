// What csp/task does with a fiber's locals as it starts and ends.
#ifndef CSP_CLS_FIBER_LOCALS_H_
#define CSP_CLS_FIBER_LOCALS_H_

#include "csp/cls/internal/slot_table.h"
#include "csp/sched/internal/fiber.h"

namespace csp::internal {

// The inheritable values of the caller, for a task it spawns: one counted reference to an immutable
// chain, null if there are none. The task's fiber takes it over when it starts.
inline void* InheritLocals(ThreadContext* thread) {
  void*& root = LocalsRoot(thread);
  return root != nullptr ? InheritFrom(root) : nullptr;
}

// Gives such a reference up where the task never started.
void DropInheritedLocals(void* chain);

// Destroys the locals of `self`, the calling fiber, the youngest first; destructors may block, and
// may make new locals, which are destroyed as well. Null: on a plain thread, whose locals live on.
inline void DestroyFiberLocals(Fiber* self) {
  if (self != nullptr && self->locals != nullptr) DestroyLocals(self->locals);
}
inline void DestroyFiberLocals() { DestroyFiberLocals(Fiber::Current()); }

}  // namespace csp::internal

#endif  // CSP_CLS_FIBER_LOCALS_H_
