// One timer, one record that runs the function.
//
// Invariants
//  1. References: each handle's, one while the timer is armed, one for each run that is owed.
//  2. `runs_` counts the runs owed. The record is queued or at work exactly while it is not 0: Fire
//     queues it at 0 -> 1, and its end queues it again if more are owed. So runs never overlap.
//  3. `mu_` guards arming and disarming. The heap that the timer was armed in last may be gone with
//     its runtime: it is touched only where that cannot end meanwhile (WithHeap), and forgotten if
//     it has. A heap that goes away drops the reference of what is armed in it (Orphaned).
#include "csp/task/after_func.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "csp/base/clock.h"
#include "csp/base/panic.h"
#include "csp/base/spinlock.h"
#include "csp/cls/fiber_locals.h"
#include "csp/sched/internal/runtimes.h"
#include "csp/sched/runtime.h"
#include "csp/sched/timer.h"
#include "csp/select/blocking.h"
#include "csp/task/panic_handler.h"

namespace csp {
namespace internal {

class AfterFuncState final : public Timer, public TaskRecord {
 public:
  AfterFuncState(std::unique_ptr<AfterFuncClosure> function, const void* site)
      : function_(std::move(function)) {
    spawn_site = site;
    name = "AfterFunc";
    stack_class = Runtime::Current().default_stack_class();
  }

  bool Stop() {
    if (!WithHeap([this] { return Disarm(); })) return false;
    Release();
    return true;
  }

  bool Start(std::int64_t deadline) {
    const Runtime& runtime = Runtime::Current();  // may have to start it: not under the lock
    return WithHeap([&] {
      const bool was_running = Disarm();
      if (!was_running) references_.fetch_add(1, std::memory_order_relaxed);
      Forget();
      home_ = runtime.number();
      try {
        Arm(deadline);
      } catch (...) {  // no memory: it is stopped; the caller has a reference of its own
        references_.fetch_sub(1, std::memory_order_relaxed);
        throw;
      }
      armed_for_never_ = deadline == kForever;
      return was_running;
    });
  }

  // The last handle is gone: what waits for Reset alone never runs.
  void HandlesGone() {
    bool never;
    {
      const std::lock_guard lock(mu_);
      never = armed_for_never_ && Disarm();  // is in no heap
    }
    if (never) Release();
    Release();
  }

  void Release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~AfterFuncState() = default;

  // Calls `use` under `mu_`, while the heap exists or is forgotten. The registry's lock, which is
  // everybody's, comes first, and is for those alone who come from outside of a runtime that ends.
  template <class F>
  bool WithHeap(F use) {
    {
      const std::lock_guard lock(mu_);
      if (HomeStays()) return use();
    }
    bool result = false;
    WithRegistry([&](const std::vector<Runtime*>& living) {
      const std::lock_guard lock(mu_);
      const bool lives = std::any_of(living.begin(), living.end(), [this](const Runtime* runtime) {
        return runtime->number() == home_;
      });
      if (!lives) Forget();
      result = use();
    });
    return result;
  }

  // The caller keeps its own runtime; nobody ends the default one.
  bool HomeStays() const {
    const Runtime* own = Runtime::OfCaller();
    if (own != nullptr && own->number() == home_) return true;
    const Runtime* fallback = Runtime::DefaultIfStarted();
    return home_ == 0 || (fallback != nullptr && fallback->number() == home_);
  }

  Fired Fire() noexcept override {
    // The armed timer's reference becomes the run's.
    const bool idle = runs_.fetch_add(1, std::memory_order_acq_rel) == 0;
    return {nullptr, idle ? this : nullptr};
  }

  // (It may have been armed elsewhere meanwhile: with a reference of its own.)
  void Orphaned() noexcept override { Release(); }

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
    if (runs_.fetch_sub(1, std::memory_order_acq_rel) > 1) {
      try {
        Runtime::Current().Spawn(this);
      } catch (const RuntimeError&) {  // shutting down: what is owed is dropped
        for (std::uint32_t owed = runs_.exchange(0); owed > 0; --owed) Release();
      }
    }
    Release();
    DestroyFiberLocals();
  }

  const std::unique_ptr<AfterFuncClosure> function_;
  Atomic<std::uint32_t> references_{1};
  Atomic<std::uint32_t> runs_{0};
  SpinLock mu_{LockRank::kObject};
  std::uint64_t home_ = 0;        // the number of the runtime that it was armed in last
  bool armed_for_never_ = false;  // that time
};

}  // namespace internal

bool AfterFuncTimer::Stop() { return state_ != nullptr && state_->Stop(); }

bool AfterFuncTimer::Reset(absl::Duration delay) {
  if (state_ == nullptr) {
    throw InvalidArgument("AfterFuncTimer::Reset: the timer is empty; make one with AfterFunc");
  }
  return state_->Start(internal::DeadlineAfter(internal::NowNanos(), delay));
}

namespace internal {

void ThrowEmptyAfterFunc() { throw InvalidArgument("AfterFunc: the function is empty"); }

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
