// Go starts a task.
//
//   csp::Go([] { Work(); });
//   csp::Go(Serve, std::move(conn));                       // arguments are moved along
//   csp::Go({.name = "indexer", .stack_size = 1 << 20}, [] { Index(); });
#ifndef CSP_TASK_GO_H_
#define CSP_TASK_GO_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "csp/select/blocking.h"
#include "csp/task/task.h"

namespace csp {

struct GoOptions {
  // Shown by DumpFibers and in reports; the first 31 characters count.
  std::string name = {};
  // At least this many bytes, rounded up to a power of two; the runtime's default if not given.
  // InvalidArgument if 0 or above 1 GiB.
  std::optional<std::size_t> stack_size = std::nullopt;
  // The task stays on one thread for life: for libraries that keep thread-local state. From a
  // fiber: on its current worker.
  bool pinned = false;
};

namespace internal {

// The out-of-line half of Go. The return address of the call is the spawn site, so what calls it is
// inlined into the caller of Go. If it throws, `task` is destroyed.
void SpawnTask(TaskState* task);
void SpawnTask(const GoOptions& options, TaskState* task);

// The arguments go along by value and are passed as rvalues, as std::thread does it.
template <class F, class... Args>
auto MakeClosure(F&& f, Args&&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return std::decay_t<F>(std::forward<F>(f));
  } else {
    return [f = std::decay_t<F>(std::forward<F>(f)),
            args = std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)]() mutable {
      return std::apply(std::move(f), std::move(args));
    };
  }
}

template <class F, class... Args>
inline constexpr bool kCanGo = std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>;

template <class F, class... Args>
using GoResult =
    typename std::conditional_t<kCanGo<F, Args...>,
                                std::invoke_result<std::decay_t<F>, std::decay_t<Args>...>,
                                std::type_identity<void>>::type;

// `call` is for what() if `f` is empty.
template <class F, class... Args>
auto* MakeTask(const char* call, bool has_handle, F&& f, Args&&... args) {
  CheckNotEmpty(call, f);
  using Closure = decltype(MakeClosure(std::forward<F>(f), std::forward<Args>(args)...));
  using R = GoResult<F, Args...>;
  static_assert(!std::is_reference_v<R>,
                "Go, BlockingDetached, AfterDone: the function returns a reference; return a "
                "value, a pointer "
                "or std::reference_wrapper");
  return new ClosureState<Closure, R>(has_handle,
                                      MakeClosure(std::forward<F>(f), std::forward<Args>(args)...));
}

// What stands in place of the function is none of the options.
template <class F, class... Args>
concept NoOptions = kCanGo<F, Args...> || !std::is_convertible_v<F, const GoOptions&>;

template <class F, class... Args>
consteval bool CheckGo() {
  static_assert(kCanGo<F, Args...>,
                "Go, Scope::Go, BlockingDetached, AfterDone: the function cannot be called with "
                "these arguments; they are copied or moved along and passed as rvalues, as by "
                "std::thread: use std::ref for a reference");
  return kCanGo<F, Args...>;
}

}  // namespace internal

// Starts `f(args...)` as a task of the current runtime (on a plain thread: of the default runtime,
// which starts by itself) and returns its handle, which may be dropped. Never suspends; the task
// begins some time. Throws InvalidArgument if `f` is an empty std::function or a null pointer;
// RuntimeError after the runtime's shutdown has begun and in a forked child; std::bad_alloc.
// Memory ordering: what happens before Go is visible to the task.
// Cost: one allocation; a stack only once the task begins.
template <class F, class... Args>
requires internal::NoOptions<F, Args...>
[[gnu::always_inline]] inline Task<internal::GoResult<F, Args...>> Go(F&& f, Args&&... args) {
  if constexpr (internal::CheckGo<F, Args...>()) {
    internal::ResultState<internal::GoResult<F, Args...>>* task = internal::MakeTask(
        "Go", /*has_handle=*/true, std::forward<F>(f), std::forward<Args>(args)...);
    internal::SpawnTask(task);
    return Task<internal::GoResult<F, Args...>>(task);
  } else {
    return {};
  }
}

// The same with options. Throws InvalidArgument for those, too.
template <class F, class... Args>
[[gnu::always_inline]] inline Task<internal::GoResult<F, Args...>> Go(const GoOptions& options,
                                                                      F&& f, Args&&... args) {
  if constexpr (internal::CheckGo<F, Args...>()) {
    internal::ResultState<internal::GoResult<F, Args...>>* task = internal::MakeTask(
        "Go", /*has_handle=*/true, std::forward<F>(f), std::forward<Args>(args)...);
    internal::SpawnTask(options, task);
    return Task<internal::GoResult<F, Args...>>(task);
  } else {
    return {};
  }
}

// Gives way to the other fibers that are ready; on a plain thread to other threads. Throws
// Cancelled.
inline void Yield() { internal::EnterBlocking()->Yield(/*voluntary=*/true); }

}  // namespace csp

#endif  // CSP_TASK_GO_H_
