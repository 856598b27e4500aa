// What tests of scopes share: tasks that fail or never end, and who is told of it.
#ifndef TESTS_TASK_FAILURES_H_
#define TESTS_TASK_FAILURES_H_

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

#include "csp/select/event.h"
#include "csp/task/panic_handler.h"
#include "gtest/gtest.h"

namespace csp {

[[noreturn]] inline void Fail(const char* what) { throw std::runtime_error(what); }

inline void WaitForever() { Event().Wait(); }

template <class F>
void ExpectFailure(const char* what, F f) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), what);
  }
}

// Counts what the panic handler is told.
class PanicCount {
 public:
  PanicCount() {
    previous_ = SetPanicHandler([this](const PanicReport& report) {
      ++count_;
      last_ = report.what;
    });
  }
  ~PanicCount() { SetPanicHandler(std::move(previous_)); }
  int count() const { return count_; }
  const std::string& last() const { return last_; }

 private:
  PanicHandler previous_;
  std::atomic<int> count_{0};
  std::string last_;
};

}  // namespace csp

#endif  // TESTS_TASK_FAILURES_H_
