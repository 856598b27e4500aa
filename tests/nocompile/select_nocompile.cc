// What cannot be written in a Select, and what the compiler says about it.

#include <any>
#include <optional>
#include <string>
#include <utility>

#include "csp/csp.h"

struct Unrelated {};
struct NoTake : csp::SelectEvent, csp::Case {
  NoTake() : Case(Kind::kAsk) {}
  bool Poll() override { return true; }
  csp::Arming Arm() override { return csp::Arming::kReady; }
  void Disarm() noexcept override {}
  const csp::ParkReason& reason() const override;
  const void* object() const override { return this; }
  using Result = int;
};
constexpr bool kOpen = true;

void Valid(csp::Chan<int> ch, csp::Chan<std::string> out, std::string text) {
  const int i = csp::Select(
      ch.OnRecv() >> [](std::optional<int> v) { return v.value_or(0); },
      out.OnSend(std::move(text)) >> [] { return 1; },
      csp::When(
          kOpen, csp::OnTimeout(absl::Seconds(1)) >> [] { return 2; }),
      csp::Default >> [] { return 3; });
  (void)i;
  csp::Select(ch.OnRecv());
  csp::Select(out.OnSend(text), csp::OnTimeout(absl::Seconds(1)), csp::Default);
}

#ifdef STORED_EVENT  // expect: an event is for one Select
void Case(csp::Chan<int> ch) {
  auto event = ch.OnSend(1);
  csp::Select(event);
}
#endif

#ifdef STORED_EVENT_WITH_A_HANDLER  // expect: an event is for one Select
void Case(csp::Chan<int> ch) {
  auto event = ch.OnRecv();
  csp::Select(event >> [](std::optional<int>) {});
}
#endif

#ifdef STORED_ARM  // expect: an event is for one Select
void Case(csp::Chan<int> ch) {
  auto arm = ch.OnRecv() >> [](std::optional<int>) {};
  csp::Select(arm);
}
#endif

#ifdef STORED_ARM_IN_WHEN  // expect: an event is for one Select
void Case(csp::Chan<int> ch) {
  auto event = ch.OnSend(1);
  csp::Select(csp::When(true, event));
}
#endif

#ifdef COPIED_EVENT  // expect: deleted
void Case(csp::Chan<int> ch) {
  auto event = ch.OnSend(1);
  auto copy = event;
}
#endif

#ifdef MOVED_EVENT  // expect: deleted
void Case(csp::Chan<int> ch) {
  auto event = ch.OnRecv();
  csp::Select(decltype(event)(std::move(event)));
}
#endif

#ifdef MOVED_ARM  // expect: deleted
void Case(csp::Chan<int> ch) {
  auto arm = ch.OnRecv() >> [](std::optional<int>) {};
  auto moved = std::move(arm);
}
#endif

#ifdef TWO_DEFAULTS  // expect: at most one Default
void Case(csp::Chan<int> ch) {
  csp::Select(
      ch.OnSend(1), csp::Default, csp::Default >> [] {});
}
#endif

#ifdef DEFAULT_IN_WHEN  // expect: choose between two Selects instead
void Case(csp::Chan<int> ch) { csp::Select(ch.OnSend(1), csp::When(true, csp::Default)); }
#endif

#ifdef DEFAULT_WITH_A_HANDLER_IN_WHEN  // expect: choose between two Selects instead
void Case(csp::Chan<int> ch) {
  csp::Select(ch.OnSend(1), csp::When(
                                true, csp::Default >> [] {}));
}
#endif

#ifdef NO_COMMON_RESULT  // expect: the handlers' results have no common type
void Case(csp::Chan<int> ch) {
  csp::Select(
      ch.OnRecv() >> [](std::optional<int>) { return std::string(); },
      csp::Default >> [] { return 1; });
}
#endif

#ifdef A_RESULT_AND_NONE  // expect: one case has a result and another none
void Case(csp::Chan<int> ch) {
  csp::Select(
      ch.OnRecv() >> [](std::optional<int>) {}, csp::Default >> [] { return 1; });
}
#endif

#ifdef A_TIMEOUT_THAT_LOOKS_LIKE_A_VALUE  // expect: one case has a result and another none
auto Case(csp::Chan<csp::Unit> done) {
  return csp::Select(done.OnRecv(), csp::OnTimeout(absl::Seconds(1)));
}
#endif

#ifdef A_DEFAULT_THAT_LOOKS_LIKE_A_RESULT  // expect: one case has a result and another none
auto Case(csp::Chan<int> ch) {
  return csp::Select(
      ch.OnRecv() >> [](std::optional<int>) { return std::any(); }, csp::Default);
}
#endif

#ifdef EVENT_WITHOUT_TAKE  // expect: names its Result, and gives it by a public member
auto Case() { return csp::Select(NoTake()); }
#endif

#ifdef EVENT_WITHOUT_TAKE_WITH_A_HANDLER  // expect: names its Result, and gives it by a public
auto Case() {
  return csp::Select(NoTake() >> [] {});
}
#endif

#ifdef EVENT_WITHOUT_TAKE_IN_WHEN  // expect: names its Result, and gives it by a public member
auto Case() { return csp::Select(csp::When(kOpen, NoTake())); }
#endif

#ifdef EVENT_THAT_IS_NO_CASE  // expect: names its Result, and gives it by a public member
struct NoCase : csp::SelectEvent {
  using Result = int;
  int Take() { return 1; }
};
auto Case() { return csp::Select(NoCase()); }
#endif

#ifdef HANDLER_FOR_THE_BARE_VALUE  // expect: the handler must take std::optional<T>
void Case(csp::Chan<Unrelated> ch) {
  csp::Select(ch.OnRecv() >> [](Unrelated) {});
}
#endif

#ifdef HANDLER_FOR_SOMETHING_ELSE  // expect: the handler must take std::optional<T>
void Case(csp::Chan<int> ch) {
  csp::Select(ch.OnRecv() >> [](const std::string&) {});
}
#endif

#ifdef HANDLER_WITH_TOO_MANY  // expect: the handler must be callable with the event's result
void Case(csp::Chan<int> ch) {
  csp::Select(ch.OnSend(1) >> [](int, int) {});
}
#endif

#ifdef HANDLER_WITHOUT_THE_RESULT  // expect: the handler must take std::optional<T>
void Case(csp::Chan<int> ch) {
  csp::Select(ch.OnRecv() >> [] {});
}
#endif

#ifdef DEFAULT_HANDLER_WITH_A_PARAMETER  // expect: the handler takes nothing
void Case(csp::Chan<int> ch) {
  csp::Select(
      ch.OnSend(1), csp::Default >> [](int) {});
}
#endif

#ifdef NO_EVENT  // expect: each argument is an event
void Case(csp::Chan<int> ch) { csp::Select(ch.OnSend(1), 5); }
#endif

#ifdef A_CHANNEL_IS_NO_EVENT  // expect: each argument is an event
void Case(csp::Chan<int> ch) { csp::Select(std::move(ch)); }
#endif

#ifdef NOTHING_TO_SELECT  // expect: name at least one case
void Case() { csp::Select(); }
#endif

#ifdef IGNORED_EVENT  // expect: nodiscard | unused
#pragma GCC diagnostic error "-Wunused-result"
void Case(csp::Chan<int> ch) { ch.OnRecv(); }
#endif

#ifdef A_SEND_AND_A_RECEIVE  // expect: one case has a result and another none
void Case(csp::Chan<int> ch) { csp::Select(ch.OnSend(1), ch.OnRecv()); }
#endif

#ifdef HANDLER_OF_A_CHANNEL  // expect: write channel.OnRecv() >> handler
void Case(csp::Chan<int> ch) {
  csp::Select(ch >> [](std::optional<int>) {});
}
#endif

#ifdef HANDLER_OF_ONE_END  // expect: write channel.OnRecv() >> handler
void Case(csp::RecvChan<int> in) {
  csp::Select(in >> [](std::optional<int>) {});
}
#endif
