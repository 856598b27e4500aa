// A spawned task before and while it runs, as the scheduler sees it: a small record. The closure,
// the result and those who join live in the class that csp/task derives from it.
//
// Lifetime: the scheduler holds one reference from Spawn until Finished, the record's last virtual
// call. A record outlives its fiber only while somebody holds a handle.
#ifndef CSP_SCHED_TASK_RECORD_H_
#define CSP_SCHED_TASK_RECORD_H_

#include <cstdint>
#include <exception>

#include "csp/base/atomic.h"
#include "csp/base/intrusive_list.h"

namespace csp::internal {

class Fiber;

class TaskRecord : public ListNode<TaskRecord> {
 public:
  // The task's body, on its fiber; may suspend and move between threads.
  virtual void Run() noexcept = 0;

  // Instead of Run: there was no stack to run it on. On a worker's own stack.
  virtual void Fail(std::exception_ptr error) noexcept = 0;

  // Last call, on the fiber after Run, or after Fail: gives up the scheduler's reference.
  virtual void Finished() noexcept = 0;

  // Constant once spawned. (The smallest first, where the base leaves room: a million records may
  // wait.)
  std::uint8_t stack_class = 0;  // FiberPool
  bool pinned = false;

  // Cancellation of a task that may not have started yet: the start sets `fiber`, then (light
  // barrier) looks at `cancel_requested`; the canceller sets `cancel_requested`, then (heavy
  // barrier) looks at `fiber`. One of them sees the other.
  Atomic<bool> cancel_requested{false};
  Atomic<Fiber*> fiber{nullptr};  // while it runs

  // Constant once spawned.
  std::uint64_t number = 0;          // unique in the process, from 1
  const void* spawn_site = nullptr;  // return address in the caller of Go
  const char* name = nullptr;        // the derived class owns the text; null: unnamed
  void* inherited_locals = nullptr;  // csp/cls

 protected:
  ~TaskRecord() = default;
};

}  // namespace csp::internal

#endif  // CSP_SCHED_TASK_RECORD_H_
