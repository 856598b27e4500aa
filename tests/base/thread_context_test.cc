#include "csp/base/thread_context.h"

#include <boost/context/fiber.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/scale.h"

namespace csp::internal {
namespace {

TEST(ThreadContextTest, EachThreadHasOneOfItsOwn) {
  ThreadContext* mine = CurrentThread();
  EXPECT_EQ(CurrentThread(), mine);
  std::thread([mine] {
    EXPECT_NE(CurrentThread(), mine);
    EXPECT_EQ(CurrentThread(), CurrentThread());
  }).join();
}

TEST(ThreadContextTest, BeginsEmptyOnEachThread) {
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      ThreadContext* thread = CurrentThread();
      EXPECT_EQ(thread->parker, nullptr);
      EXPECT_EQ(thread->worker, nullptr);
      EXPECT_EQ(thread->lean, nullptr);
      EXPECT_EQ(thread->locals, nullptr);
      EXPECT_EQ(thread->budget, 0);
      EXPECT_EQ(thread->held_ranks, 0u);
      thread->budget = 7;  // the next thread, perhaps at the same address, sees nothing of it
      EXPECT_EQ(CurrentThread()->budget, 7);
    }).join();
  }
}

// One function, optimized as a whole, that begins on one thread and ends on another.
TEST(ThreadContextTest, AFiberThatHasMovedIsToldTheNewThreads) {
  if (kTsan || kAsan) GTEST_SKIP() << "a sanitizer must be told of each switch: see tests/sched";
  std::vector<ThreadContext*> seen;
  boost::context::fiber fiber([&seen](boost::context::fiber&& from) {
    for (int i = 0; i < 4; ++i) {
      seen.push_back(CurrentThread());
      CurrentThread()->budget = i;
      from = std::move(from).resume();
    }
    return std::move(from);
  });
  std::vector<ThreadContext*> resumed_on;
  const auto resume = [&](int budget) {
    resumed_on.push_back(CurrentThread());
    fiber = std::move(fiber).resume();
    EXPECT_EQ(CurrentThread()->budget, budget);
  };
  for (int i = 0; i < 4; i += 2) {
    resume(i);
    std::thread([&] { resume(i + 1); }).join();
  }
  fiber = std::move(fiber).resume();  // to its end
  EXPECT_EQ(seen, resumed_on);
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

}  // namespace
}  // namespace csp::internal
