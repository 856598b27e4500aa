// A function to be run later.
//
//   csp::AfterFuncTimer timer = csp::AfterFunc(absl::Seconds(5), [] { GiveUp(); });
//   …
//   if (timer.Stop()) …                          // it has not begun and never will
#ifndef CSP_TASK_AFTER_FUNC_H_
#define CSP_TASK_AFTER_FUNC_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/time/time.h"

namespace csp {
namespace internal {

class AfterFuncState;

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
  friend AfterFuncTimer AfterFunc(absl::Duration, std::function<void()>);
  explicit AfterFuncTimer(std::shared_ptr<internal::AfterFuncState> state)
      : state_(std::move(state)) {}

  std::shared_ptr<internal::AfterFuncState> state_;
};

// Runs `function` as a task of its own after `delay`; zero or less: at once, infinite: not until
// Reset. What it throws goes to the panic handler. Costs one allocation, and no fiber until it
// fires.
[[nodiscard]] AfterFuncTimer AfterFunc(absl::Duration delay, std::function<void()> function);

}  // namespace csp

#endif  // CSP_TASK_AFTER_FUNC_H_
