#include "csp/time/internal/timed_task.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "csp/base/panic.h"
#include "csp/sched/internal/runtimes.h"
#include "csp/sched/runtime.h"

namespace csp::internal {

TimedTask::TimedTask(const char* what, const void* site) {
  Runtime::CheckNotForked();  // before a runtime is started for it
  spawn_site = site;
  name = what;
  stack_class = Runtime::Current().default_stack_class();
}

bool TimedTask::Stop() {
  if (!WithHeap([this] { return Disarm(); })) return false;
  Release();
  return true;
}

bool TimedTask::Start(std::int64_t deadline) {
  Runtime::CheckNotForked();  // whoever held one of the locks is not there to release it
  const Runtime& runtime = Runtime::Current();  // may have to start it: not under the lock
  return WithHeap([&] {
    const bool was_running = Disarm();
    if (!was_running) AddReference();
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

void TimedTask::HandlesGone() {
  bool never;
  {
    const std::lock_guard lock(mu_);
    never = armed_for_never_ && Disarm();  // is in no heap
  }
  if (never) Release();
  Release();
}

// Calls `use` under `mu_`, while the heap exists or is forgotten. The registry's lock, which is
// everybody's, comes first, and is for those alone who come from outside of a runtime that ends.
template <class F>
bool TimedTask::WithHeap(F use) {
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
bool TimedTask::HomeStays() const {
  const Runtime* own = Runtime::OfCaller();
  if (own != nullptr && own->number() == home_) return true;
  const Runtime* fallback = Runtime::DefaultIfStarted();
  return home_ == 0 || (fallback != nullptr && fallback->number() == home_);
}

Timer::Fired TimedTask::Fire() noexcept {
  // The armed timer's reference becomes the run's.
  const bool idle = runs_.fetch_add(1, std::memory_order_acq_rel) == 0;
  return {nullptr, idle ? this : nullptr};
}

// (It may have been armed elsewhere meanwhile: with a reference of its own.)
void TimedTask::Orphaned() noexcept { Release(); }

void TimedTask::EndRun() noexcept {
  if (runs_.fetch_sub(1, std::memory_order_acq_rel) > 1) {
    try {
      Runtime::Current().Spawn(this);
    } catch (const RuntimeError&) {  // shutting down: what is owed is dropped
      for (std::uint32_t owed = runs_.exchange(0); owed > 0; --owed) Release();
    }
  }
  Release();
}

}  // namespace csp::internal
