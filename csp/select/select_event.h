// What the arms of a Select are made of: events, handlers, guards, Default.
//
//   ch.OnRecv() >> [&](std::optional<Job> job) { … }     an event with its handler
//   When(open, ch.OnSend(x) >> [&] { … })                takes part only if `open`
//   Default >> [&] { … }                                 if nothing is ready
//
// An event is written where it is used, inside the Select: it can be neither copied nor moved, and
// what `>>` and `When` make of it refers to it, to the handler and to whatever the event borrows
// (OnSend: the value). All of them live until the end of the Select's full expression.
#ifndef CSP_SELECT_SELECT_EVENT_H_
#define CSP_SELECT_SELECT_EVENT_H_

#include <concepts>
#include <type_traits>
#include <utility>

#include "csp/select/case.h"

namespace csp {

// The result of an event or handler that has none.
struct Unit {
  friend constexpr bool operator==(Unit, Unit) { return true; }
};

namespace internal {

struct ArmTag {};

template <class T>
inline constexpr bool kAlwaysFalse = false;

// `void` counts as Unit.
template <class R>
using Solid = std::conditional_t<std::is_void_v<R>, Unit, std::remove_cvref_t<R>>;

template <class F, class... Args>
Solid<std::invoke_result_t<F&, Args...>> Call(F& f, Args&&... args) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&, Args...>>) {
    f(std::forward<Args>(args)...);
    return Unit{};
  } else {
    return f(std::forward<Args>(args)...);
  }
}

}  // namespace internal

// An event: derives from SelectEvent and Case, names its Result, and gives it by Take, which Select
// calls once, after the case has been accepted and every loser disarmed.
//
//   class Done final : public SelectEvent, public Case {
//    public:
//     using Result = Unit;
//     Result Take() { return {}; }
//     …                                   // Poll, Arm, Disarm (case.h)
//   };
struct SelectEvent : internal::ArmTag {};

template <class E>
concept EventType = std::derived_from<E, SelectEvent> && std::derived_from<E, Case> &&
    requires(E& event) {
  { event.Take() } -> std::same_as<typename E::Result>;
};

namespace internal {

template <class E>
consteval void CheckEvent() {
  static_assert(EventType<E>,
                "an event derives from csp::SelectEvent and csp::Case, names its Result, and gives "
                "it by a public member `Result Take()`; one without a result has `using Result = "
                "csp::Unit`");
}
template <class A>
consteval void CheckIfEvent() {
  if constexpr (std::derived_from<A, SelectEvent>) CheckEvent<A>();
}

// An event may say which handlers it refuses, with a message: a static member template
// `CheckHandler<F>()` full of static_asserts.
template <class E, class F>
consteval bool HandlerFits() {
  if constexpr (requires { E::template CheckHandler<F>(); }) E::template CheckHandler<F>();
  constexpr bool takes_result = std::is_invocable_v<F&, typename E::Result>;
  constexpr bool takes_nothing =
      std::is_same_v<typename E::Result, Unit> && std::is_invocable_v<F&>;
  static_assert(takes_result || takes_nothing,
                "event >> handler: the handler must be callable with the event's result (or with "
                "nothing, if the event has none)");
  return takes_nothing;
}

// event >> handler; refers to both.
template <class E, class F>
class Handled : public ArmTag {
 public:
  static constexpr bool kNoArgument = HandlerFits<E, F>();

  Handled(E& event, F& handler) : event_(event), handler_(handler) {}
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;

  Case* AsCase() { return &event_; }

  decltype(auto) Finish() {
    if constexpr (kNoArgument) {
      (void)event_.Take();
      return Call(handler_);
    } else {
      return Call(handler_, event_.Take());
    }
  }

 private:
  E& event_;
  F& handler_;
};

// When(condition, arm): `arm`, or nothing that could ever be ready.
template <class A>
class Guarded : public ArmTag {
 public:
  Guarded(bool open, A& arm) : open_(open), arm_(arm) {}
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  bool open() const { return open_; }
  A& arm() { return arm_; }

 private:
  const bool open_;
  A& arm_;
};

struct DefaultTag : ArmTag {};

template <class F>
class HandledDefault : public ArmTag {
 public:
  explicit HandledDefault(F& handler) : handler_(handler) {
    static_assert(std::is_invocable_v<F&>, "Default >> handler: the handler takes nothing");
  }
  HandledDefault(const HandledDefault&) = delete;
  HandledDefault& operator=(const HandledDefault&) = delete;

  auto Finish() { return Call(handler_); }

 private:
  F& handler_;
};

// Here, and not in csp, because this is where a use of it outside of csp looks.
template <class F>
[[nodiscard]] auto operator>>(DefaultTag, F&& handler) {
  return HandledDefault<std::remove_reference_t<F>>(handler);
}

template <class A>
inline constexpr bool kIsDefault = std::is_same_v<A, DefaultTag>;
template <class F>
inline constexpr bool kIsDefault<HandledDefault<F>> = true;

template <class A>
inline constexpr bool kIsGuarded = false;
template <class A>
inline constexpr bool kIsGuarded<Guarded<A>> = true;

}  // namespace internal

template <class A>
concept SelectArm = std::derived_from<std::remove_cvref_t<A>, internal::ArmTag>;

// Taken if nothing is ready; `Select(…, Default)` alone or with a handler that takes nothing.
inline constexpr internal::DefaultTag Default;

// Attaches a handler. It runs on the selecting fiber, after every other case has been disarmed and
// with nothing locked: it may block, select again, throw, or destroy what was selected on.
template <class E, class F>
requires std::derived_from<std::remove_cvref_t<E>, SelectEvent>
[[nodiscard]] auto operator>>(E&& event, F&& handler) {
  static_assert(!std::is_lvalue_reference_v<E>,
                "event >> handler: an event is for one Select; write it there, do not store it");
  internal::CheckEvent<std::remove_cvref_t<E>>();
  return internal::Handled<std::remove_reference_t<E>, std::remove_reference_t<F>>(event, handler);
}

// `arm` takes part only if `open`. Its operands are evaluated in either case: it is a function
// call.
template <SelectArm A>
[[nodiscard]] auto When(bool open, A&& arm) {
  static_assert(!std::is_lvalue_reference_v<A>,
                "When(condition, arm): an event is for one Select; write it there");
  static_assert(!internal::kIsDefault<std::remove_cvref_t<A>>,
                "When(condition, Default): choose between two Selects instead");
  internal::CheckIfEvent<std::remove_cvref_t<A>>();
  return internal::Guarded<std::remove_reference_t<A>>(open, arm);
}

}  // namespace csp

#endif  // CSP_SELECT_SELECT_EVENT_H_
