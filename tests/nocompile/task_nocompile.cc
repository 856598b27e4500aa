// What cannot be started as a task, and what the compiler says about it.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "csp/task/after_done.h"
#include "csp/task/after_func.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/task/scope.h"

int global = 0;

int Valid() {
  csp::Go([only = std::make_unique<int>(1)] { return *only; }).Detach();
  csp::Go([](std::unique_ptr<int>) {}, std::make_unique<int>(1)).Detach();
  csp::Scope scope;
  scope.Go([](std::unique_ptr<int>) {}, std::make_unique<int>(1));
  scope.Go({.name = "child"}, [] {});
  scope.Go({}, [] {});
  (void)scope.TryGo([](int& by_reference) { ++by_reference; }, std::ref(global));
  (void)csp::AfterDone(
      scope.token(), [](int) {}, 1);
  return csp::Run([] { return 0; });
}

#ifdef REFERENCE_RESULT  // expect: the function returns a reference
void Case() {
  csp::Go([]() -> int& { return global; });
}
#endif

#ifdef RUN_RETURNS_A_STRING  // expect: the main function returns int or nothing
int Case() {
  return csp::Run([] { return std::string(); });
}
#endif

#ifdef COPIED_TASK  // expect: deleted | no matching | implicitly
void Case(csp::Task<int>& task) { csp::Task<int> copy = task; }
#endif

#ifdef WRONG_ARGUMENTS  // expect: the function cannot be called with these arguments
void Case() {
  csp::Go([](int) {}, "no number");
}
#endif

#ifdef NO_FUNCTION  // expect: the function cannot be called with these arguments
void Case() { csp::Go(5); }
#endif

#ifdef NO_FUNCTION_WITH_OPTIONS  // expect: the function cannot be called with these arguments
void Case() { csp::Go({.name = "five"}, 5); }
#endif

#ifdef ARGUMENT_BY_REFERENCE  // expect: use std::ref for a reference
void Case() {
  csp::Go([](int&) {}, global);
}
#endif

#ifdef NO_BLOCKING_FUNCTION  // expect: the function cannot be called with these arguments
void Case() { csp::BlockingDetached(5); }
#endif

#ifdef NO_CHILD  // expect: the function cannot be called with these arguments
void Case(csp::Scope& scope) { scope.Go(5); }
#endif

#ifdef NO_CHILD_WITH_OPTIONS  // expect: the function cannot be called with these arguments
void Case(csp::Scope& scope) { scope.Go({.name = "five"}, 5); }
#endif

#ifdef CHILD_WITH_WRONG_ARGUMENTS  // expect: the function cannot be called with these arguments
void Case(csp::Scope& scope) {
  scope.Go([](int) {}, "no number");
}
#endif

#ifdef CHILD_WITH_A_REFERENCE  // expect: use std::ref for a reference
void Case(csp::Scope& scope) {
  (void)scope.TryGo([](int&) {}, global);
}
#endif

#ifdef NOTHING_AFTER_DONE  // expect: the function cannot be called with these arguments
void Case(const csp::CancelToken& token) { (void)csp::AfterDone(token, 5); }
#endif

#ifdef REFERENCE_AFTER_DONE  // expect: the function returns a reference
void Case(const csp::CancelToken& token) {
  (void)csp::AfterDone(token, []() -> int& { return global; });
}
#endif

#ifdef MAIN_WITH_AN_ARGUMENT  // expect: the main function takes no arguments
int Case() {
  return csp::Run([](int) { return 0; });
}
#endif

#ifdef NO_MAIN  // expect: the main function takes no arguments
int Case() { return csp::Run(5); }
#endif

#ifdef AFTER_FUNC_WITH_AN_ARGUMENT  // expect: the function is called without arguments
void Case() {
  csp::AfterFunc(absl::Seconds(1), [](int) {});
}
#endif
