// The two common scopes: all of a few functions, and the first of them.
//
//   auto [user, orders] = csp::JoinAll([&] { return FetchUser(id); },
//                                      [&] { return FetchOrders(id); });
//   std::string page = csp::Race([&] { return Fetch(mirror1); }, [&] { return Fetch(mirror2); });
//
// Each function is run as a task of a scope (scope.h), and may use the caller's frame. Both return,
// or throw, after all have ended.
#ifndef CSP_TASK_JOIN_ALL_H_
#define CSP_TASK_JOIN_ALL_H_

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "csp/base/atomic.h"
#include "csp/base/panic.h"
#include "csp/select/select_event.h"
#include "csp/task/scope.h"

namespace csp {
namespace internal {

// A function has thrown Cancelled although nobody has cancelled it.
[[noreturn]] inline void ThrowNoResult(const char* call) {
  throw TaskCancelled(std::string(call) + ": a function was cancelled before it had a result");
}

// (Apart, since a lambda within a fold within a lambda is too much for clang 14.)
template <class F, class R>
void GoInto(Scope& scope, F& f, std::optional<R>& result) {
  scope.Go([&f, &result] { result.emplace(Call(f)); });
}

template <std::size_t... kIndex, class... Fs>
auto JoinAllOf(std::index_sequence<kIndex...>, Fs&... fs) {
  std::tuple<std::optional<Solid<std::invoke_result_t<Fs&>>>...> results;
  WithScope([&](Scope& scope) { (GoInto(scope, fs, std::get<kIndex>(results)), ...); });
  if (!(std::get<kIndex>(results).has_value() && ...)) ThrowNoResult("JoinAll");
  return std::tuple<Solid<std::invoke_result_t<Fs&>>...>(std::move(*std::get<kIndex>(results))...);
}

// The race for one result. Lives outside of the scope's function, which may end before the tasks.
template <class R>
class Racing {
 public:
  template <class F>
  void Go(Scope& scope, F& f) {
    scope.Go([this, &scope, &f] {
      Run(f);
      scope.Cancel();
    });
  }

  // After the scope.
  R Result() {
    if (error_ != nullptr) std::rethrow_exception(error_);
    if (!result_) ThrowNoResult("Race");
    return std::move(*result_);
  }

 private:
  template <class F>
  void Run(F& f) {
    bool first = false;
    try {
      auto value = Call(f);
      first = !decided_.exchange(true);
      if (first) result_.emplace(std::move(value));
    } catch (const Cancelled&) {
      throw;
    } catch (...) {
      if (first || !decided_.exchange(true)) error_ = std::current_exception();
    }
  }

  Atomic<bool> decided_{false};
  std::optional<R> result_;  // the winner's
  std::exception_ptr error_;
};

}  // namespace internal

// Their results, in the order in which they are written; Unit for void. Throws the first failure,
// which has cancelled the others; Cancelled if the caller is.
template <class... Fs>
std::tuple<internal::Solid<std::invoke_result_t<Fs&>>...> JoinAll(Fs&&... fs) {
  return internal::JoinAllOf(std::index_sequence_for<Fs...>(), fs...);
}

// The result of the function that is the first to end, as their common type; Unit if there is none.
// If that one has thrown, this throws it. The others are cancelled and joined; what they come to
// counts for nothing. Throws Cancelled if the caller is.
template <class... Fs>
std::common_type_t<internal::Solid<std::invoke_result_t<Fs&>>...> Race(Fs&&... fs) {
  static_assert(sizeof...(Fs) > 0, "Race: nobody takes part");
  internal::Racing<std::common_type_t<internal::Solid<std::invoke_result_t<Fs&>>...>> racing;
  WithScope([&](Scope& scope) { (racing.Go(scope, fs), ...); });
  return racing.Result();
}

}  // namespace csp

#endif  // CSP_TASK_JOIN_ALL_H_
