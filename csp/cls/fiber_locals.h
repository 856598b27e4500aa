// What csp/task does with a fiber's locals as it starts, ends, and calls Blocking.
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

// Those of the calling thread, if it is one of the blocking pool, so that no job finds what the one
// before has left. Those of other threads live on.
void DestroyPoolThreadLocals();

// Destroys the locals of `self`, the calling fiber, the youngest first; destructors may block, and
// may make new locals, which are destroyed as well. Null: of a pool's thread, as above.
inline void DestroyFiberLocals(Fiber* self) {
  if (self == nullptr) {
    DestroyPoolThreadLocals();
  } else if (self->locals != nullptr) {
    DestroyLocals(self->locals);
  }
}
inline void DestroyFiberLocals() { DestroyFiberLocals(Fiber::Current()); }

// The calling pool's thread takes such a reference over, as a fiber that starts does.
void AdoptInheritedLocals(void* chain);

// While it lives, the calling thread has the locals of `fiber`, which is parked.
class BorrowLocals {
 public:
  explicit BorrowLocals(Parker* fiber);
  ~BorrowLocals();
  BorrowLocals(const BorrowLocals&) = delete;
  BorrowLocals& operator=(const BorrowLocals&) = delete;
};

}  // namespace csp::internal

#endif  // CSP_CLS_FIBER_LOCALS_H_
