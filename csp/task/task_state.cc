#include "csp/task/task_state.h"

#include <utility>

#include "csp/cls/fiber_locals.h"
#include "csp/select/blocking.h"
#include "csp/task/panic_handler.h"

namespace csp::internal {

void TaskState::Run() noexcept {
  End end = End::kReturned;
  std::exception_ptr error;
  try {
    if (cancel_requested.load(std::memory_order_relaxed)) throw Cancelled();  // before it began
    Invoke();
  } catch (const Cancelled&) {
    end = End::kCancelled;
  } catch (...) {
    end = End::kFailed;
    error = std::current_exception();
  }
  {
    // What the runtime destroys may block to the end, also in a cancelled fiber.
    const Shield shield;
    DropClosure();
    if (error != nullptr && references_.load(std::memory_order_acquire) == 1) {
      // Nobody can join any more: the panic handler still sees the task's locals.
      ReportPanic(runtime, number, name, spawn_site, std::exchange(error, nullptr));
    }
    DestroyFiberLocals();
  }
  Conclude(end, std::move(error));
}

void TaskState::Fail(std::exception_ptr error) noexcept {
  DropClosure();
  DropInheritedLocals(std::exchange(inherited_locals, nullptr));
  Conclude(End::kFailed, std::move(error));
}

void TaskState::Conclude(End end, std::exception_ptr error) {
  end_ = end;
  error_ = std::move(error);
  unobserved_.store(error_ != nullptr, std::memory_order_relaxed);
  // Nobody holds a handle, so nobody waits and nobody will.
  if (references_.load(std::memory_order_acquire) == 1) return;
  WakeList wake;
  {
    const std::lock_guard lock(mu_);
    summary_.Set(kDone);
    wake.Claim(joiners_, true);
  }
  wake.WakeAll();
}

// Releasing may run user code, a result's destructor or the panic handler, which may make locals.
void TaskState::Finished() noexcept {
  const Shield shield;
  Release();
  DestroyFiberLocals();
}

void TaskState::Detach() { Release(); }

void TaskState::Release() {
  // acq_rel: the last one sees all that the other has done.
  if (references_.load(std::memory_order_acquire) != 1 &&
      references_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  ReportIfUnobserved();
  delete this;
}

void TaskState::ReportIfUnobserved() {
  if (!unobserved_.load(std::memory_order_relaxed)) return;
  const Shield shield;
  ReportPanic(runtime, number, name, spawn_site, std::move(error_));
}

void TaskState::Rethrow() {
  unobserved_.store(false, std::memory_order_relaxed);
  if (end_ == End::kFailed) std::rethrow_exception(std::exchange(error_, nullptr));
  if (end_ == End::kCancelled) {
    throw TaskCancelled("Task::Join: the task was cancelled before it came to its end");
  }
}

}  // namespace csp::internal
