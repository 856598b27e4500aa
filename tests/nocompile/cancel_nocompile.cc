// Uses of cancellation and scopes that must not compile, and what the compiler says.
#include <utility>

#include "csp/cancel/cancel_callback.h"
#include "csp/cancel/cancel_source.h"
#include "csp/task/scope.h"

int global = 0;

int Valid() {
  csp::CancelSource source;
  csp::CancelCallback callback(source.token(), []() noexcept {});
  csp::CancelSource moved = std::move(source);
  csp::WithScope([](csp::Scope& s) { s.Go([] {}); });
  return csp::WithTimeout(absl::Seconds(1), [] { return 0; });
}

#ifdef THROWING_CALLBACK  // expect: takes nothing and is noexcept
void Case(const csp::CancelToken& token) {
  csp::CancelCallback callback(token, [] {});
}
#endif

#ifdef COPIED_CALLBACK  // expect: deleted | no matching
void Case(const csp::CancelToken& token) {
  csp::CancelCallback callback(token, []() noexcept {});
  auto copy = callback;
}
#endif

#ifdef COPIED_SOURCE  // expect: deleted | implicitly
void Case(csp::CancelSource& source) { csp::CancelSource copy = source; }
#endif

#ifdef COPIED_SCOPE  // expect: deleted
void Case(csp::Scope& scope) { csp::Scope copy = scope; }
#endif

#ifdef REFERENCE_RESULT  // expect: return a value or a pointer
void Case() {
  csp::WithScope([]() -> int& { return global; });
}
#endif

#ifdef WRONG_ARGUMENTS  // expect: Go
void Case(csp::Scope& scope) {
  scope.Go([](int) {}, "no number");
}
#endif
