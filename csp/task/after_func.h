// A function to be run later.
//
//   csp::AfterFuncTimer timer = csp::AfterFunc(absl::Seconds(5), [] { GiveUp(); });
//   …
//   if (timer.Stop()) …                          // it has not begun and never will
#ifndef CSP_TASK_AFTER_FUNC_H_
#define CSP_TASK_AFTER_FUNC_H_

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/time/time.h"
#include "csp/task/task_state.h"

namespace csp {

class AfterFuncTimer;

namespace internal {

class AfterFuncState;

// What is to be run, again and again if the timer is Reset.
class AfterFuncClosure {
 public:
  AfterFuncClosure() = default;
  virtual ~AfterFuncClosure() = default;
  AfterFuncClosure(const AfterFuncClosure&) = delete;
  AfterFuncClosure& operator=(const AfterFuncClosure&) = delete;

  virtual void Call() = 0;
};

template <class F>
class AfterFuncClosureOf final : public AfterFuncClosure {
 public:
  explicit AfterFuncClosureOf(F function) : function_(std::move(function)) {}

  void Call() override { (void)std::invoke(function_); }

 private:
  F function_;
};

// The out-of-line half of AfterFunc; the return address of the call is the spawn site.
AfterFuncTimer StartAfterFunc(absl::Duration delay, std::unique_ptr<AfterFuncClosure> function);

}  // namespace internal

// The handle; copies mean the same timer. Dropping it lets the timer go on.
// Thread rules: from any fiber or thread.
class AfterFuncTimer {
 public:
  AfterFuncTimer() = default;

  // True: the timer was running, and the function will not be run for it. False: it had fired (the
  // function has begun or is about to) or was stopped. Does not wait for the function. Never
  // suspends.
  bool Stop();

  // Lets it run after `delay` from now, whether it has fired, was stopped or neither. Returns what
  // Stop would have. Runs of one timer's function never overlap: if it is still at work then, it
  // runs again afterwards.
  bool Reset(absl::Duration delay);

 private:
  friend AfterFuncTimer internal::StartAfterFunc(absl::Duration,
                                                 std::unique_ptr<internal::AfterFuncClosure>);
  explicit AfterFuncTimer(std::shared_ptr<internal::AfterFuncState> state)
      : state_(std::move(state)) {}

  std::shared_ptr<internal::AfterFuncState> state_;
};

// Runs `function`, which may be move-only, as a task of its own after `delay`; zero or less: at once,
// infinite: not until Reset. It is destroyed when it has run and no handle is left that could Reset
// it. What it throws goes to the panic handler. Throws InvalidArgument if it is an empty
// std::function or a null pointer; RuntimeError and std::bad_alloc as Go. Allocates now, not when it
// fires, and costs no fiber until then.
//
// It fires in the runtime of whoever has started it last (run.h). If that ends first it never does,
// and nobody is told; Reset starts it anew, in the runtime of the caller.
template <class F>
[[gnu::always_inline]] inline AfterFuncTimer AfterFunc(absl::Duration delay, F&& function) {
  constexpr bool callable = std::is_invocable_v<std::decay_t<F>&>;
  static_assert(callable,
                "AfterFunc: the function is called without arguments, and perhaps several times; "
                "give a lambda that captures what it needs");
  if constexpr (callable) {
    internal::CheckNotEmpty("AfterFunc", function);
    using Closure = internal::AfterFuncClosureOf<std::decay_t<F>>;
    return internal::StartAfterFunc(delay, std::make_unique<Closure>(std::forward<F>(function)));
  } else {
    return {};
  }
}

}  // namespace csp

#endif  // CSP_TASK_AFTER_FUNC_H_
