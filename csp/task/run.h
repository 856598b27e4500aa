// Run: a program, or a part of it, on a runtime of its own.
//
//   int main() {
//     return csp::Run([] {
//       …
//       return 0;
//     });
//   }
//
// Without Run everything works as well: Go and the blocking verbs use the default runtime, which
// starts on first use and is left as it is when the process ends, as in Go.
#ifndef CSP_TASK_RUN_H_
#define CSP_TASK_RUN_H_

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/time/time.h"
#include "csp/sched/stats.h"
#include "csp/task/go.h"
#include "csp/task/panic_handler.h"

namespace csp {

struct RunOptions {
  // Threads that run fibers, 1 to 1024; 0: as many processors as the process may use (affinity mask
  // and cgroup quota).
  int workers = 0;
  // Of each fiber that does not ask for another; bytes, rounded up to a power of two, at least
  // 16 KiB. InvalidArgument if 0 or above 1 GiB.
  std::size_t stack_size = std::size_t{128} << 10;
  // Of the main function's fiber.
  std::size_t main_stack_size = std::size_t{8} << 20;
  // Told of failures that nobody can observe; empty: the process's handler (panic_handler.h).
  PanicHandler on_panic = {};
  // How long the tasks that are left when the main function returns may take to unwind.
  absl::Duration grace = absl::Seconds(10);
  // Told when every fiber and thread waits and nothing can wake one; empty: prints the report (as
  // DumpFibers) and aborts. Runs on a worker and may not block.
  std::function<void(const std::string& report)> on_deadlock = {};
};

namespace internal {

// Runs `main` on a new runtime; the rest is Run's.
void RunTask(TaskState* main, const RunOptions& options, const std::function<void()>& join);

template <class F>
consteval bool CheckMain() {
  constexpr bool callable = std::is_invocable_v<F>;
  static_assert(
      callable,
      "Run: the main function takes no arguments; give a lambda that captures what it needs");
  if constexpr (callable) {
    using R = std::invoke_result_t<F>;
    constexpr bool fits = std::is_void_v<R> || std::is_convertible_v<R, int>;
    static_assert(fits, "Run: the main function returns int or nothing");
    return fits;
  } else {
    return false;
  }
}

}  // namespace internal

// Runs `main()` as the first task of a new runtime, waits for it, then shuts the runtime down: all
// tasks that are left are cancelled and unwound, their destructors run. After `grace` whoever still
// runs is named on the standard error and, a second later, left behind, together with the runtime's
// memory. Returns what `main` returns (0 for void); throws what it throws, after the shutdown.
//
// Throws InvalidArgument for options out of range and if `main` is an empty std::function or a null
// pointer, RuntimeError inside a fiber and if a thread
// cannot be had. Several Runs, in several threads or one after another, do not disturb each other.
template <class F>
int Run(F&& main, const RunOptions& options = {}) {
  int status = 0;
  if constexpr (internal::CheckMain<F>()) {
    internal::CheckNotEmpty("Run", main);
    auto* state = internal::MakeTask("Run", /*has_handle=*/true, [&]() -> int {
      if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
        std::invoke(std::forward<F>(main));
        return 0;
      } else {
        return std::invoke(std::forward<F>(main));
      }
    });
    internal::RunTask(state, options, [&] { status = Task<int>(state).Join(); });
  }
  return status;
}

// Ends the default runtime: cancels and unwinds its tasks, for up to `grace`. True if none is left;
// otherwise they are named on the standard error. Afterwards Go throws on plain threads, TryX and
// Close go on working. Nothing happens if the runtime never started. Throws RuntimeError on a fiber
// of the default runtime and in a forked child.
bool Shutdown(absl::Duration grace);

// Counters of the current runtime (on a plain thread: the default one).
RuntimeStats GetStats();

}  // namespace csp

#endif  // CSP_TASK_RUN_H_
