// Shutdown
//  1. BeginShutdown: nothing new starts. Whoever calls Go now gets RuntimeError.
//  2. Every task is cancelled: those that have not begun as they begin (Fiber::Bind), the others
//     here; again and again, since one that was just beginning may have been missed, until none is
//     left or the grace is over.
//  3. Whoever is left is named. Its worker, and so the runtime, are left to it.
//  4. The workers stop; the runtime is destroyed unless somebody still uses it.
#include "csp/task/run.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "csp/base/panic.h"
#include "csp/sched/dump.h"
#include "csp/sched/internal/fiber_pool.h"
#include "csp/sched/runtime.h"
#include "csp/select/blocking.h"

namespace csp {
namespace internal {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kMaxWorkers = 1024;

void CheckOptions(const RunOptions& options) {
  if (options.workers < 0 || options.workers > kMaxWorkers) {
    throw InvalidArgument("Run: RunOptions::workers is " + std::to_string(options.workers) +
                          "; give 1 to 1024, or 0 for one per usable processor");
  }
  (void)CheckedStackClass("Run: RunOptions::stack_size", options.stack_size);
  (void)CheckedStackClass("Run: RunOptions::main_stack_size", options.main_stack_size);
  if (options.grace < absl::ZeroDuration()) {
    throw InvalidArgument("Run: RunOptions::grace is negative; give 0 or more, or infinite");
  }
}

SteadyClock::time_point After(absl::Duration grace) {
  constexpr absl::Duration kLongest = absl::Hours(24 * 365 * 100);
  return SteadyClock::now() + absl::ToChronoNanoseconds(std::min(grace, kLongest));
}

void CancelAll(Runtime& runtime) {
  CancelSweep sweep;
  FiberPool::Get().ForEachHot([&](Fiber* fiber) {
    if (fiber->runtime.load(std::memory_order_relaxed) != &runtime) return;
    const std::uint64_t number = fiber->number();
    // A task that has ended meanwhile has another number, or none.
    if (number != 0 && fiber->runtime.load(std::memory_order_relaxed) == &runtime) {
      sweep.Cancel(*fiber, number);
    }
  });
}

// True if no user code is left to run: all that counts as a task is on its way out. `ended` is the
// number of a task that has been joined, and may be there still.
bool OnlyLeaving(Runtime& runtime, std::uint64_t ended) {
  bool leaving = true;
  FiberPool::Get().ForEachHot([&](Fiber* fiber) {
    if (fiber->runtime.load(std::memory_order_relaxed) != &runtime) return;
    const std::uint64_t number = fiber->number();
    if (number != 0 && number != ended) leaving = false;
  });
  runtime.ForEachUnstarted([&](const TaskRecord&) { return leaving = false; });
  return leaving;
}

// True if no task is left, but for `ended`, which has been joined.
bool Drain(Runtime& runtime, SteadyClock::time_point until, std::uint64_t ended = 0) {
  runtime.BeginShutdown();
  constexpr std::chrono::milliseconds kSweepEvery(10);
  for (;;) {
    CancelAll(runtime);
    const SteadyClock::time_point now = SteadyClock::now();
    if (runtime.AwaitDrained(std::min(until, now + kSweepEvery))) return true;
    if (now >= until && !OnlyLeaving(runtime, ended)) return false;
  }
}

// A program may have millions of tasks.
constexpr std::size_t kMostNamed = 100;

void NameWhoIsLeft(Runtime& runtime, const char* call) {
  if (const std::uint64_t tasks = runtime.live_tasks(); tasks != 0) {
    std::fprintf(stderr, "csp: %s: %" PRIu64 " task%s did not end within the grace period:\n%s",
                 call, tasks, tasks == 1 ? "" : "s", DumpFibersOf(runtime, kMostNamed).c_str());
  }
  if (const std::size_t calls = runtime.blocking_pool().calls(); calls != 0) {
    std::fprintf(stderr, "csp: %s: %zu Blocking call%s did not end within the grace period\n", call,
                 calls, calls == 1 ? "" : "s");
  }
}

// True if nothing runs any more. Tasks leave BlockingDetached calls behind, and those may have
// called Go before the shutdown began: so there must be no call before and after there is no task.
bool Quiet(Runtime& runtime) {
  return runtime.blocking_pool().quiet() && runtime.live_tasks() == 0 &&
         runtime.blocking_pool().quiet();
}

// True if the runtime may be destroyed.
bool End(Runtime& runtime, SteadyClock::time_point until, std::uint64_t main) {
  bool clean = Drain(runtime, until, main);
  while (clean && !Quiet(runtime)) {
    // Calls that are left behind keep the workers, which fire their timers.
    if (SteadyClock::now() >= until) {
      NameWhoIsLeft(runtime, "Run");
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    clean = Drain(runtime, until, main);
  }
  if (!clean) NameWhoIsLeft(runtime, "Run");
  // Idle workers leave at once; the time is for the machine's sake.
  const std::chrono::seconds patience(clean ? 10 : 1);
  return runtime.Stop(std::max(until, SteadyClock::now() + patience)) && clean;
}

}  // namespace

void RunTask(TaskState* main, const RunOptions& options, const std::function<void()>& join) {
  std::unique_ptr<Runtime> runtime;
  std::uint64_t number = 0;
  try {
    Runtime::CheckNotForked();
    if (Fiber::Current() != nullptr) {
      throw RuntimeError("Run: called on a fiber; use Go, or call Run on a thread of its own");
    }
    CheckOptions(options);
    RuntimeConfig config;
    config.call = "Run";
    config.workers = options.workers;
    config.stack_size = options.stack_size;
    config.on_deadlock = options.on_deadlock;
    if (options.on_panic) {
      config.on_panic = [on_panic = options.on_panic](std::uint64_t task, const char* name,
                                                      const void* site, std::exception_ptr error) {
        on_panic(MakePanicReport(task, name, site, std::move(error)));
      };
    }
    runtime = std::make_unique<Runtime>(config);
    main->stack_class = StackClassFor(options.main_stack_size);
    main->name = "main";
    runtime->Spawn(main);
    number = main->number;
  } catch (...) {
    main->Abandon();
    throw;
  }
  std::exception_ptr error;
  try {
    join();
  } catch (...) {
    error = std::current_exception();
  }
  if (!End(*runtime, After(options.grace), number)) (void)runtime.release();
  runtime.reset();
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace internal

bool Shutdown(absl::Duration grace) {
  internal::Runtime::CheckNotForked();
  internal::Runtime* runtime = internal::Runtime::DefaultIfStarted();
  if (runtime == nullptr) return true;
  if (internal::Fiber::Current() != nullptr && &internal::Runtime::Current() == runtime) {
    throw RuntimeError(
        "Shutdown: called on a fiber of the runtime that it would end; call it on a "
        "plain thread");
  }
  if (grace < absl::ZeroDuration()) {
    throw InvalidArgument("Shutdown: the grace period is negative; give 0 or more, or infinite");
  }
  if (internal::Drain(*runtime, internal::After(grace))) return true;
  internal::NameWhoIsLeft(*runtime, "Shutdown");
  return false;
}

RuntimeStats GetStats() { return internal::Runtime::Current().stats(); }

}  // namespace csp
