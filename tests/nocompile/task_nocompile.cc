// What cannot be started as a task, and what the compiler says about it.

#include <memory>
#include <string>
#include <utility>

#include "csp/task/go.h"
#include "csp/task/run.h"

int global = 0;

int Valid() {
  csp::Go([only = std::make_unique<int>(1)] { return *only; }).Detach();
  csp::Go([](std::unique_ptr<int>) {}, std::make_unique<int>(1)).Detach();
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

#ifdef WRONG_ARGUMENTS  // expect: Go
void Case() {
  csp::Go([](int) {}, "no number");
}
#endif
