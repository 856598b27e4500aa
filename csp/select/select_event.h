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

// What stands for an arm that a static_assert has refused, so that nothing is said about it twice.
struct Refused : ArmTag {};

template <class E, class F>
inline constexpr bool kTakesNothing =
    std::is_same_v<typename E::Result, Unit>&& std::is_invocable_v<F&>;

// An event may refuse handlers with a message of its own: by a static member template
// `consteval bool CheckHandler<F>()`, which returns false only after a static_assert that has
// failed.
template <class E, class F>
consteval bool HandlerFits() {
  if constexpr (!EventType<E>) {
    return false;  // CheckEvent has said so
  } else if constexpr (requires {
                         { E::template CheckHandler<F>() } -> std::same_as<bool>;
                       }) {
    return E::template CheckHandler<F>();
  } else {
    constexpr bool fits = std::is_invocable_v<F&, typename E::Result> || kTakesNothing<E, F>;
    static_assert(fits,
                  "event >> handler: the handler must be callable with the event's result (or with "
                  "nothing, if the event has none)");
    return fits;
  }
}

// event >> handler; refers to both.
template <class E, class F>
class Handled : public ArmTag {
 public:
  Handled(E& event, F& handler) : event_(event), handler_(handler) {}
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;

  Case* AsCase() { return &event_; }

  decltype(auto) Finish() {
    if constexpr (kTakesNothing<E, F>) {
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
  explicit HandledDefault(F& handler) : handler_(handler) {}
  HandledDefault(const HandledDefault&) = delete;
  HandledDefault& operator=(const HandledDefault&) = delete;

  auto Finish() { return Call(handler_); }

 private:
  F& handler_;
};

// Here, and not in csp, because this is where a use of it outside of csp looks.
template <class F>
[[nodiscard]] auto operator>>(DefaultTag, F&& handler) {
  constexpr bool fits = std::is_invocable_v<std::remove_reference_t<F>&>;
  static_assert(fits, "Default >> handler: the handler takes nothing");
  if constexpr (fits) {
    return HandledDefault<std::remove_reference_t<F>>(handler);
  } else {
    return Refused();
  }
}

template <class A>
inline constexpr bool kIsDefault = std::is_same_v<A, DefaultTag>;
template <class F>
inline constexpr bool kIsDefault<HandledDefault<F>> = true;

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
  if constexpr (std::is_lvalue_reference_v<E>) {
    return internal::Refused();
  } else if constexpr (internal::HandlerFits<E, std::remove_reference_t<F>>()) {
    return internal::Handled<E, std::remove_reference_t<F>>(event, handler);
  } else {
    return internal::Refused();
  }
}

// `arm` takes part only if `open`. Its operands are evaluated in either case: it is a function
// call.
template <SelectArm A>
[[nodiscard]] auto When(bool open, A&& arm) {
  constexpr bool is_default = internal::kIsDefault<std::remove_cvref_t<A>>;
  constexpr bool stored = std::is_lvalue_reference_v<A> && !is_default;
  static_assert(!is_default, "When(condition, Default): choose between two Selects instead");
  static_assert(!stored, "When(condition, arm): an event is for one Select; write it there");
  internal::CheckIfEvent<std::remove_cvref_t<A>>();
  if constexpr (is_default || stored || std::is_same_v<A, internal::Refused>) {
    return internal::Refused();
  } else {
    return internal::Guarded<std::remove_reference_t<A>>(open, arm);
  }
}

}  // namespace csp

#endif  // CSP_SELECT_SELECT_EVENT_H_
