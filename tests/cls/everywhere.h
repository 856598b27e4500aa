// A fixture that runs a test's body on the main fiber of runtimes of several sizes, and on a plain
// thread of its own.
#ifndef TESTS_CLS_EVERYWHERE_H_
#define TESTS_CLS_EVERYWHERE_H_

#include <string>
#include <thread>
#include <utility>

#include "csp/task/run.h"
#include "gtest/gtest.h"

namespace csp {

// The number of workers; 0 is a plain thread, whose tasks run in the default runtime.
class Everywhere : public testing::TestWithParam<int> {
 protected:
  template <class F>
  void Here(F body) {
    if (GetParam() == 0) {
      std::thread(std::move(body)).join();
    } else {
      csp::Run(std::move(body), {.workers = GetParam()});
    }
  }
};

#define CSP_TEST_EVERYWHERE(Suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Workers, Suite, testing::Values(0, 1, 2, 4, 8),        \
                           [](const testing::TestParamInfo<int>& info) {          \
                             return info.param == 0 ? std::string("PlainThread")  \
                                                    : std::to_string(info.param); \
                           })

}  // namespace csp

#endif  // TESTS_CLS_EVERYWHERE_H_
