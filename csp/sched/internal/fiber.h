// A fiber: a stack with its control block, which sits at the stack's top end. Fibers are pooled
// (fiber_pool.h) and run one task after another; an unstarted task has none.
//
// Lifetime: a control block is constructed when its stack is first used and is type-stable from
// then on. While free, its link belongs to whoever caches it.
#ifndef CSP_SCHED_INTERNAL_FIBER_H_
#define CSP_SCHED_INTERNAL_FIBER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "csp/sched/internal/switch.h"
#include "csp/sched/parker.h"
#include "csp/sched/task_record.h"

namespace csp::internal {

class Runtime;

class Fiber final : public Parker {
 public:
  Fiber(char* stack_low, std::uint8_t stack_class);
  ~Fiber();

  // The running fiber, or null on a plain thread.
  static Fiber* Current() {
    Parker* parker = CurrentThread()->parker;
    return parker != nullptr && parker->kind() == Kind::kFiber ? static_cast<Fiber*>(parker)
                                                               : nullptr;
  }

  // Takes over `task`, which is about to run on `worker`, and stays there if it is pinned.
  void Bind(TaskRecord* task, Worker& worker);
  // The task has finished: whatever others know of it is void.
  void Unbind();

  std::size_t stack_size() const { return context.stack_size; }
  const char* stack_low() const { return static_cast<const char*>(context.stack_bottom); }
  std::uint8_t stack_class() const { return stack_class_; }

  // The task's name as far as it fits, for dumps and reports; safe from any thread and from a
  // signal handler. Returns the length.
  static constexpr std::size_t kNameSize = 32;
  std::size_t CopyName(char (&out)[kNameSize]) const;

  Context context;
  TaskRecord* task = nullptr;  // owner only
  Worker* home = nullptr;      // of a pinned task; constant while bound
  void* locals = nullptr;      // csp/cls; owner only
  Fiber* next = nullptr;       // in a pool or cache while free, in a queue while ready
  void* slab = nullptr;        // FiberPool's, with the place in it
  std::size_t slab_index = 0;

  // For dumps from other threads.
  Atomic<Runtime*> runtime{nullptr};  // null: no task
  Atomic<const void*> spawn_site{nullptr};

  // The number of the task at work; 0: none.
  std::uint64_t number() const { return NumberIn(words.cancel.load(std::memory_order_acquire)); }

 private:
  std::array<Atomic<std::uint64_t>, kNameSize / 8> name_ = {};
  const std::uint8_t stack_class_;
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_FIBER_H_
