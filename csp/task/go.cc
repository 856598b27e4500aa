#include "csp/task/go.h"

#include <memory>
#include <string>
#include <utility>

#include "csp/base/asymmetric.h"
#include "csp/base/panic.h"
#include "csp/cls/fiber_locals.h"
#include "csp/sched/internal/fiber_pool.h"
#include "csp/sched/runtime.h"
#include "csp/sched/yield.h"
#include "csp/select/blocking.h"

namespace csp {
namespace internal {
namespace {

void SpawnIn(Runtime& runtime, NewTask& task) {
  task->runtime = &runtime;
  task->inherited_locals = InheritLocals(CurrentThread());  // copies values: may throw
  runtime.Spawn(task.get());
  (void)task.release();
}

}  // namespace

[[gnu::noinline]] void SpawnTask(TaskState* state) {
  NewTask task(state);
  task->spawn_site = __builtin_return_address(0);
  Runtime& runtime = Runtime::Current();  // may have to start it: may throw
  task->stack_class = runtime.default_stack_class();
  SpawnIn(runtime, task);
}

[[gnu::noinline]] void SpawnTask(const GoOptions& options, TaskState* state) {
  NewTask task(state);
  task->spawn_site = __builtin_return_address(0);
  Runtime& runtime = Runtime::Current();
  task->stack_class = runtime.default_stack_class();
  if (options.stack_size.has_value()) {
    task->stack_class = CheckedStackClass("Go: GoOptions::stack_size", *options.stack_size);
  }
  if (!options.name.empty()) task->KeepName(options.name);
  task->pinned = options.pinned;
  SpawnIn(runtime, task);
}

void ThrowEmptyFunction(const char* call) {
  throw InvalidArgument(std::string(call) +
                        ": the function is empty (a default-constructed std::function or a null "
                        "pointer); give one that can be called");
}

void ThrowNoTask(const char* call, const char* remedy) {
  throw JoinError(std::string(call) +
                  ": no task is behind this handle (joined before, detached or moved from); " +
                  remedy);
}

void ThrowSelfJoin(const char* call) {
  throw JoinError(std::string(call) + ": a task cannot wait for itself");
}

void RequestCancel(TaskRecord& task) {
  task.cancel_requested.store(true, std::memory_order_release);
  Fiber* fiber = task.fiber.load(std::memory_order_acquire);
  if (fiber == nullptr) {  // has not started, or is about to, or has ended
    HeavyBarrier();        // pairs with Fiber::Bind
    fiber = task.fiber.load(std::memory_order_acquire);
  }
  if (fiber != nullptr) CancelParker(*fiber, task.number);
}

}  // namespace internal

}  // namespace csp
