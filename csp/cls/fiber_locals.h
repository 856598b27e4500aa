// What csp/task does with a fiber's locals as it starts and ends.
#ifndef CSP_CLS_FIBER_LOCALS_H_
#define CSP_CLS_FIBER_LOCALS_H_

namespace csp::internal {

// The inheritable values of the caller, for a task it spawns: one counted reference to an immutable
// chain, null if there are none. The task's fiber takes it over when it starts.
void* InheritLocals();

// Gives such a reference up where the task never started.
void DropInheritedLocals(void* chain);

// Destroys the calling fiber's locals, the youngest first; destructors may block, and may make new
// locals, which are destroyed as well. Does nothing on a plain thread.
void DestroyFiberLocals();

}  // namespace csp::internal

#endif  // CSP_CLS_FIBER_LOCALS_H_
