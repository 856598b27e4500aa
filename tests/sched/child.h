// Bodies that need a process of their own: those that end it, limit it, or must be its only thread.
//
//   TEST(ExitTest, LeavesFibersAlone) {
//     EXPECT_CHILD(
//         {
//           csp::Go([] { csp::Event().Wait(); });
//           std::exit(3);
//         },
//         testing::ExitedWithCode(3), "");
//   }
//
// The child is the same program, started anew, and runs nothing but this one body; a body that
// returns makes it exit with 0, one that hangs is killed by SIGALRM. A body with commas outside of
// parentheses is better a function.
#ifndef TESTS_SCHED_CHILD_H_
#define TESTS_SCHED_CHILD_H_

#include <unistd.h>

#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/support/scale.h"

namespace csp {

inline constexpr unsigned kChildPatience = kTsan || kAsan ? 300 : 60;

#define EXPECT_CHILD(body, predicate, matcher)            \
  do {                                                    \
    testing::FLAGS_gtest_death_test_style = "threadsafe"; \
    EXPECT_EXIT(                                          \
        {                                                 \
          alarm(csp::kChildPatience);                     \
          body;                                           \
          std::exit(0);                                   \
        },                                                \
        predicate, matcher);                              \
  } while (false)

}  // namespace csp

#endif  // TESTS_SCHED_CHILD_H_
