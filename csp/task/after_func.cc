#include "csp/task/after_func.h"

#include <exception>
#include <memory>

#include "csp/base/clock.h"
#include "csp/base/panic.h"
#include "csp/cls/fiber_locals.h"
#include "csp/sched/runtime.h"
#include "csp/select/blocking.h"
#include "csp/task/panic_handler.h"
#include "csp/time/internal/timed_task.h"

namespace csp {
namespace internal {

class AfterFuncState final : public TimedTask {
 public:
  AfterFuncState(std::unique_ptr<AfterFuncClosure> function, const void* site)
      : TimedTask("AfterFunc", site), function_(std::move(function)) {}

 private:
  void Run() noexcept override {
    // Fired into the runtime's shutdown. It may be Reset in another.
    if (cancel_requested.exchange(false, std::memory_order_relaxed)) return;
    std::exception_ptr error;
    try {
      function_->Call();
    } catch (const Cancelled&) {
    } catch (...) {
      error = std::current_exception();
    }
    const Shield shield;  // what follows may block to the end, also in a runtime that shuts down
    if (error != nullptr) {
      ReportPanic(&Runtime::Current(), number, name, spawn_site, std::move(error));
    }
    DestroyFiberLocals();
  }

  void Fail(std::exception_ptr error) noexcept override {
    ReportPanic(&Runtime::Current(), number, name, spawn_site, std::move(error));
  }

  // Releasing may destroy the function, whose destructor may block and use locals.
  void Finished() noexcept override {
    const Shield shield;
    EndRun();
    DestroyFiberLocals();
  }

  const std::unique_ptr<AfterFuncClosure> function_;
};

}  // namespace internal

bool AfterFuncTimer::Stop() {
  internal::Runtime::CheckNotForked();
  return state_ != nullptr && state_->Stop();
}

bool AfterFuncTimer::Reset(absl::Duration delay) {
  if (state_ == nullptr) {
    throw InvalidArgument("AfterFuncTimer::Reset: the timer is empty; make one with AfterFunc");
  }
  return state_->Start(internal::DeadlineAfter(internal::NowNanos(), delay));
}

namespace internal {

[[gnu::noinline]] AfterFuncTimer StartAfterFunc(absl::Duration delay,
                                                std::unique_ptr<AfterFuncClosure> function) {
  auto* state = new AfterFuncState(std::move(function), __builtin_return_address(0));
  AfterFuncTimer timer(
      std::shared_ptr<AfterFuncState>(state, [](AfterFuncState* s) { s->HandlesGone(); }));
  state->Start(DeadlineAfter(NowNanos(), delay));
  return timer;
}

}  // namespace internal
}  // namespace csp
