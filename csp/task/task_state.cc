#include "csp/task/task_state.h"

#include <cstring>
#include <utility>

#include "csp/cls/fiber_locals.h"
#include "csp/sched/internal/fiber.h"
#include "csp/select/blocking.h"
#include "csp/task/panic_handler.h"

namespace csp::internal {

TaskState::~TaskState() {
  if (owns_name_) delete[] name;
}

void TaskState::KeepName(const std::string& text) {
  auto* copy = new char[text.size() + 1];
  std::memcpy(copy, text.c_str(), text.size() + 1);
  name = copy;
  owns_name_ = true;
}

void TaskState::Run() noexcept {
  Fiber* self = fiber.load(std::memory_order_relaxed);  // null: a plain thread
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
    const Shield shield(self != nullptr ? self : Parker::Current());
    DropClosure();
    if (error != nullptr && detached_.load(std::memory_order_acquire)) {
      // Nobody can join any more: the panic handler still sees the task's locals.
      ReportPanic(runtime, number, name, spawn_site, std::exchange(error, nullptr));
    }
    DestroyFiberLocals(self);
  }
  NoteEnd(end, std::move(error));
}

void TaskState::Fail(std::exception_ptr error) noexcept {
  Refused(error);
  DropClosure();
  DropInheritedLocals(std::exchange(inherited_locals, nullptr));
  NoteEnd(End::kFailed, std::move(error));
}

void TaskState::NoteEnd(End end, std::exception_ptr error) {
  end_ = end;
  error_ = std::move(error);
  unobserved_.store(error_ != nullptr, std::memory_order_relaxed);
}

void TaskState::Finished() noexcept {
  if (LeaveToHandle()) return;
  Destroy();
  DestroyFiberLocals();  // which Destroy may have made
}

// False: there is none.
bool TaskState::LeaveToHandle() {
  if (detached_.load(std::memory_order_acquire)) {
    mu_.AwaitFree();
    return false;
  }
  WakeList wake;
  {
    const std::lock_guard lock(mu_);
    if (detached_.load(std::memory_order_relaxed)) return false;
    summary_.Set(kDone);
    wake.Claim(joiners_, true);
  }
  wake.WakeAll();
  return true;
}

void TaskState::Detach() {
  if (!LeaveToScheduler()) Destroy();
}

// False: it has finished with the task.
bool TaskState::LeaveToScheduler() {
  if (done()) {
    mu_.AwaitFree();
    return false;
  }
  const std::lock_guard lock(mu_);
  if (done()) return false;
  detached_.store(true, std::memory_order_release);
  return true;
}

// Runs user code: a result's destructor, the panic handler.
void TaskState::Destroy() {
  const Shield shield;
  if (unobserved_.load(std::memory_order_relaxed)) {
    ReportPanic(runtime, number, name, spawn_site, std::move(error_));
  }
  delete this;
}

void TaskState::Abandon() {
  DropInheritedLocals(inherited_locals);
  delete this;
}

void TaskState::Rethrow() {
  unobserved_.store(false, std::memory_order_relaxed);
  if (end_ == End::kFailed) std::rethrow_exception(std::exchange(error_, nullptr));
  if (end_ == End::kCancelled) {
    throw TaskCancelled("Task::Join: the task was cancelled before it came to its end");
  }
}

}  // namespace csp::internal
