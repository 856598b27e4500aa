// Select waits for several events at once and goes through with exactly one of them.
//
//   csp::Select(
//       jobs.OnRecv()                    >> [&](std::optional<Job> job) { … },
//       results.OnSend(std::move(r))     >> [&] { … },   // r is moved from only if this case wins
//       csp::OnTimeout(absl::Seconds(1)) >> [&] { … });
//
// - All operands are evaluated first, also those of events that then do not win; as of any function
//   call, in no order that could be relied on (Go's is the order written).
// - If several events are ready, one of them is chosen uniformly at random; PriSelect takes the
//   first in the order written, timeouts included. Once a select waits, the first event to happen
//   wins.
// - `csp::Default` is taken only if at one instant no other case was ready.
// - Of an event that does not win, nothing happens: no value is taken or moved from, no place in a
//   queue is kept.
// - The winner's handler runs on the calling fiber after all others have been disarmed, as an
//   ordinary call. Its exceptions leave Select; what the event did stays done.
// - Select returns what the handler returns: the common type of all handlers' results, where an
//   event without a handler gives its own result; void, if none has one. Either all have a result or
//   none; one of type Unit counts as none.
//
// Errors: NoLiveCase, if no case can ever be ready (nil channels, empty task handles, When(false))
// and there is no Default. Cancelled, if the calling fiber is cancelled; a select with a Default
// never throws it. One with a case `s.token().OnDone()` takes that instead, if it is the scope s, or
// one around it, that is cancelled, and s is the innermost that the caller is in.
// What arming an event throws (std::bad_alloc): nothing has happened then.
// Thread rules: from a fiber or from a plain thread, which it blocks.
// Memory ordering: as of the operation that won; losing cases order nothing.
// Cost: no allocation; one load per case to see that it is not ready, one lock to take the winner; a
// select that waits locks each case's object once to enter and once to leave.
#ifndef CSP_SELECT_SELECT_H_
#define CSP_SELECT_SELECT_H_

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "csp/select/select_event.h"

namespace csp {
namespace internal {

enum class Order { kFair, kDeclared };

// The algorithm. `cases` may hold nulls: places that take no part. Returns the index of the case
// that was accepted, or kTookDefault.
inline constexpr int kTookDefault = -1;
int RunSelect(Case* const* cases, int count, Order order, bool has_default);

// What finishing an arm gives.
template <class A>
struct ArmTraits {  // a bare event
  using Result = typename A::Result;
  static Case* AsCase(A& arm) { return &arm; }
  static Result Finish(A& arm) { return arm.Take(); }
};
template <class E, class F>
struct ArmTraits<Handled<E, F>> {
  using Result = decltype(std::declval<Handled<E, F>&>().Finish());
  static Case* AsCase(Handled<E, F>& arm) { return arm.AsCase(); }
  static Result Finish(Handled<E, F>& arm) { return arm.Finish(); }
};
template <class A>
struct ArmTraits<Guarded<A>> {
  using Result = typename ArmTraits<A>::Result;
  static Case* AsCase(Guarded<A>& arm) {
    return arm.open() ? ArmTraits<A>::AsCase(arm.arm()) : nullptr;
  }
  static Result Finish(Guarded<A>& arm) { return ArmTraits<A>::Finish(arm.arm()); }
};
template <>
struct ArmTraits<const DefaultTag> {
  using Result = Unit;
  static Case* AsCase(const DefaultTag&) { return nullptr; }
  static Result Finish(const DefaultTag&) { return {}; }
};
template <>
struct ArmTraits<DefaultTag> : ArmTraits<const DefaultTag> {};
template <class F>
struct ArmTraits<HandledDefault<F>> {
  using Result = decltype(std::declval<HandledDefault<F>&>().Finish());
  static Case* AsCase(HandledDefault<F>&) { return nullptr; }
  static Result Finish(HandledDefault<F>& arm) { return arm.Finish(); }
};

// Not if it has been refused already.
template <class A>
inline constexpr bool kFitsSelect =
    !std::is_same_v<A, Refused> && (!std::derived_from<A, SelectEvent> || EventType<A>);
template <class A>
inline constexpr bool kFitsSelect<Guarded<A>> = kFitsSelect<A>;

template <class... Rs>
concept HaveCommonType = requires {
  typename std::common_type<Rs...>::type;
};

template <Order order, class... Arms>
auto SelectImpl(Arms&... arms) {
  constexpr int kDefaults = (int{kIsDefault<std::remove_const_t<Arms>>} + ... + 0);
  using R = typename std::common_type<typename ArmTraits<Arms>::Result...>::type;
  Case* const cases[] = {ArmTraits<Arms>::AsCase(arms)...};
  int won = RunSelect(cases, sizeof...(Arms), order, kDefaults == 1);
  int at = 0;
  if constexpr (std::is_same_v<R, Unit>) {
    ((void)(at++ == won || (won == kTookDefault && kIsDefault<std::remove_const_t<Arms>>)
                ? (void)ArmTraits<Arms>::Finish(arms)
                : void()),
     ...);
  } else {
    std::optional<R> result;
    ((void)(at++ == won || (won == kTookDefault && kIsDefault<std::remove_const_t<Arms>>)
                ? (void)result.emplace(ArmTraits<Arms>::Finish(arms))
                : void()),
     ...);
    return R(std::move(*result));
  }
}

template <class... Rs>
consteval bool CheckResults() {
  constexpr bool some = (!std::is_same_v<Rs, Unit> || ...);
  constexpr bool all = (!std::is_same_v<Rs, Unit> && ...);
  static_assert(
      !some || all,
      "Select: one case has a result and another none, which could not be told from a value of "
      "the result's type; give the one without (a timeout, a send, Default) a handler that "
      "returns what the others do, or let all return nothing");
  constexpr bool common = HaveCommonType<Rs...>;
  static_assert((some && !all) || common,
                "Select: the handlers' results have no common type; make them agree, or let each "
                "return the same std::variant");
  return (!some || all) && common;
}

// False: a static_assert, here or where the arm was made, has said why.
template <class... Arms>
consteval bool CheckArms() {
  static_assert(sizeof...(Arms) > 0, "Select: name at least one case");
  static_assert(sizeof...(Arms) <= 64, "Select: at most 64 cases");
  constexpr bool arms = (SelectArm<Arms> && ...);
  static_assert(arms,
                "Select: each argument is an event, an event with a handler (event >> handler), "
                "When(…) or Default");
  constexpr bool made_here = ((!std::is_lvalue_reference_v<Arms> ||
                               std::is_same_v<std::remove_cvref_t<Arms>, DefaultTag>)&&...);
  static_assert(!arms || made_here,
                "Select: an event is for one Select; write it there, do not store it");
  constexpr int kDefaults = (int{kIsDefault<std::remove_cvref_t<Arms>>} + ... + 0);
  static_assert(kDefaults <= 1, "Select: at most one Default");
  (CheckIfEvent<std::remove_cvref_t<Arms>>(), ...);
  if constexpr (sizeof...(Arms) == 0 || sizeof...(Arms) > 64 || !arms || !made_here ||
                kDefaults > 1 || !(kFitsSelect<std::remove_cvref_t<Arms>> && ...)) {
    return false;
  } else {
    return CheckResults<typename ArmTraits<std::remove_reference_t<Arms>>::Result...>();
  }
}

}  // namespace internal

// Waits until one of the events happens; if several are ready, takes one of them at random.
template <class... Arms>
auto Select(Arms&&... arms) {
  if constexpr (internal::CheckArms<Arms...>()) {
    return internal::SelectImpl<internal::Order::kFair>(arms...);
  }
}

// As Select, but of several ready events takes the first in the order written. A timeout that has
// passed counts where it stands, unlike in a Select: PriSelect(OnDeadline(end) >> …, in.OnRecv() >> …)
// stops at `end`, however much there is to receive.
template <class... Arms>
auto PriSelect(Arms&&... arms) {
  if constexpr (internal::CheckArms<Arms...>()) {
    return internal::SelectImpl<internal::Order::kDeclared>(arms...);
  }
}

}  // namespace csp

#endif  // CSP_SELECT_SELECT_H_
