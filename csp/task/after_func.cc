// One timer, one record that runs the function.
//
// Invariants
//  1. References: each handle's, one while the timer is armed, one for each run that is owed.
//  2. `runs_` counts the runs owed. The record is queued or at work exactly while it is not 0: Fire
//     queues it at 0 -> 1, and its end queues it again if more are owed. So runs never overlap.
//  3. `mu_` guards arming and disarming, so that the heap that the timer points to exists: a heap
//     that goes away calls Orphaned, which takes `mu_`, before it is destroyed.
#include "csp/task/after_func.h"

#include <mutex>
#include <string>

#include "csp/base/clock.h"
#include "csp/base/panic.h"
#include "csp/base/spinlock.h"
#include "csp/cls/fiber_locals.h"
#include "csp/sched/runtime.h"
#include "csp/sched/timer.h"
#include "csp/select/blocking.h"
#include "csp/task/panic_handler.h"

namespace csp {
namespace internal {

class AfterFuncState final : public Timer, public TaskRecord {
 public:
  AfterFuncState(std::function<void()> function, const void* site)
      : function_(std::move(function)) {
    spawn_site = site;
    name = "AfterFunc";
    stack_class = Runtime::Current().default_stack_class();
  }

  bool Stop() {
    {
      const std::lock_guard lock(mu_);
      if (!Disarm()) return false;
    }
    Release();
    return true;
  }

  bool Start(std::int64_t deadline) {
    const std::lock_guard lock(mu_);
    const bool was_running = Disarm();
    if (!was_running) references_.fetch_add(1, std::memory_order_relaxed);
    Arm(deadline);
    return was_running;
  }

  void Release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~AfterFuncState() = default;

  Fired Fire() noexcept override {
    // The armed timer's reference becomes the run's.
    const bool idle = runs_.fetch_add(1, std::memory_order_acq_rel) == 0;
    return {nullptr, idle ? this : nullptr};
  }

  void Orphaned() noexcept override {
    {
      const std::lock_guard lock(mu_);
      Forget();
    }
    Release();
  }

  void Run() noexcept override {
    // Fired into the runtime's shutdown.
    if (cancel_requested.load(std::memory_order_relaxed)) return;
    try {
      function_();
    } catch (const Cancelled&) {
    } catch (...) {
      ReportPanic(&Runtime::Current(), number, name, spawn_site, std::current_exception());
    }
    const Shield shield;
    DestroyFiberLocals();
  }

  void Fail(std::exception_ptr error) noexcept override {
    ReportPanic(&Runtime::Current(), number, name, spawn_site, std::move(error));
  }

  void Finished() noexcept override {
    if (runs_.fetch_sub(1, std::memory_order_acq_rel) > 1) {
      try {
        Runtime::Current().Spawn(this);
      } catch (const RuntimeError&) {  // shutting down: what is owed is dropped
        for (std::uint32_t owed = runs_.exchange(0); owed > 0; --owed) Release();
      }
    }
    Release();
  }

  const std::function<void()> function_;
  Atomic<std::uint32_t> references_{1};
  Atomic<std::uint32_t> runs_{0};
  SpinLock mu_{LockRank::kObject};
};

}  // namespace internal

bool AfterFuncTimer::Stop() { return state_ != nullptr && state_->Stop(); }

bool AfterFuncTimer::Reset(absl::Duration delay) {
  if (state_ == nullptr) {
    throw InvalidArgument("AfterFuncTimer::Reset: the timer is empty; make one with AfterFunc");
  }
  return state_->Start(internal::DeadlineAfter(internal::NowNanos(), delay));
}

[[gnu::noinline]] AfterFuncTimer AfterFunc(absl::Duration delay, std::function<void()> function) {
  if (!function) throw InvalidArgument("AfterFunc: the function is empty");
  auto* state = new internal::AfterFuncState(std::move(function), __builtin_return_address(0));
  AfterFuncTimer timer(std::shared_ptr<internal::AfterFuncState>(
      state, [](internal::AfterFuncState* s) { s->Release(); }));
  state->Start(internal::DeadlineAfter(internal::NowNanos(), delay));
  return timer;
}

}  // namespace csp
