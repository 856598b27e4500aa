#include "csp/task/blocking_call.h"

#include <memory>
#include <utility>

#include "csp/cls/fiber_locals.h"
#include "csp/sched/internal/fiber.h"
#include "csp/sched/runtime.h"

namespace csp::internal {
namespace {

constexpr ParkReason kReason{"Blocking", "task"};

class DetachedCall final : public BlockingPool::Job {
 public:
  explicit DetachedCall(TaskRecord* task) : task_(task) {}

 private:
  void Run() noexcept override {
    TaskRecord* task = task_;
    delete this;
    AdoptInheritedLocals(std::exchange(task->inherited_locals, nullptr));
    task->Run();
    task->Finished();
  }

  TaskRecord* const task_;
};

}  // namespace

bool OnFiber() { return Fiber::Current() != nullptr; }

void BlockingCall::RunAndWait() {
  caller_ = Parker::Current();
  Runtime::Current().blocking_pool().Submit(this);
  // No attempt: nobody but the job ends this wait, and it does so once.
  caller_->Park(kReason, this);
}

void BlockingCall::Run() noexcept {
  Parker* caller = caller_;
  {
    const BorrowLocals borrowed(caller);
    Call();
  }
  caller->Unpark();
}

[[gnu::noinline]] void SubmitDetached(TaskState* state) {
  NewTask task(state);
  Runtime::CheckNotForked();
  task->number = Runtime::TakeNumbers(1) + 1;
  task->spawn_site = __builtin_return_address(0);
  auto call = std::make_unique<DetachedCall>(task.get());
  task->runtime = &Runtime::Current();
  task->inherited_locals = InheritLocals(CurrentThread());  // copies values: may throw
  task->runtime->blocking_pool().Submit(call.get());
  (void)call.release();  // deletes itself
  (void)task.release();
}

}  // namespace csp::internal
