// What csp does when the system has no more threads to give.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "csp/base/clock.h"
#include "csp/base/panic.h"
#include "csp/sched/blocking_pool.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"

namespace {

constinit std::atomic<int> threads_to_be_had{INT_MAX};

}  // namespace

// In place of the C library's, which it calls. RLIMIT_NPROC would do the same, if it could be set to
// an exact number and did not spare root.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  if (threads_to_be_had.fetch_sub(1) <= 0) {
    threads_to_be_had.fetch_add(1);
    return EAGAIN;
  }
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, start, argument);
}

namespace csp {
namespace {

// So many threads more can be started while it lives.
class ThreadLimit {
 public:
  explicit ThreadLimit(int count) { threads_to_be_had = count; }
  ~ThreadLimit() { threads_to_be_had = INT_MAX; }
};

const std::string kRemedy =
    "raise RLIMIT_NPROC (ulimit -u), the cgroup's pids.max or kernel.threads-max";

template <class F>
std::string MessageOf(F f) {
  try {
    f();
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(NoThreadsTest, RunSaysSoAndLeavesNothingBehind) {
  const Watchdog watchdog;
  for (const int workers : {1, 2, 4, 8}) {
    for (int had = 0; had < workers; ++had) {
      auto owned = std::make_shared<int>();
      const std::weak_ptr<int> watch = owned;
      const std::string message = MessageOf([&] {
        const ThreadLimit limit(had);
        csp::Run([owned = std::move(owned)] { ADD_FAILURE() << "ran"; }, {.workers = workers});
      });
      EXPECT_EQ(message, "Run: only " + std::to_string(had) + " of " + std::to_string(workers) +
                             " worker threads could be started (Resource temporarily unavailable); "
                             "give fewer RunOptions::workers, or " +
                             kRemedy);
      EXPECT_TRUE(watch.expired());
      ManualClock clock;
      const ScopedClock use(&clock);  // no runtime lives
      EXPECT_EQ(csp::Run([] { return Go([] { return 3; }).Join(); }, {.workers = workers}), 3);
    }
  }
}

void StartTheDefaultRuntimeTwice() {
  const std::string message = MessageOf([] {
    const ThreadLimit limit(0);
    Go([] {});
  });
  if (message.find("the default runtime: only 0 of ") != 0) std::_Exit(1);
  std::_Exit(Go([] { return 4; }).Join());
}

TEST(NoThreadsTest, TheDefaultRuntimeMayStartLater) {
  EXPECT_CHILD(StartTheDefaultRuntimeTwice(), testing::ExitedWithCode(4), "");
}

TEST(NoThreadsTest, BlockingSaysSo) {
  const Watchdog watchdog;
  csp::Run([] {
    const std::string expected =
        "Blocking: no thread could be started for the call (Resource temporarily unavailable); " +
        kRemedy + ", or run fewer threads";
    auto owned = std::make_shared<int>();
    const std::weak_ptr<int> watch = owned;
    {
      const ThreadLimit limit(0);
      const auto never = [owned] { ADD_FAILURE() << "ran"; };
      EXPECT_EQ(MessageOf([&] { Blocking(never); }), expected);
      EXPECT_EQ(MessageOf([&] { BlockingDetached(never); }), expected);
    }
    owned.reset();
    EXPECT_TRUE(watch.expired());
    EXPECT_EQ(Blocking([] { return 5; }), 5);
    const ThreadLimit limit(0);  // there is a thread by now
    EXPECT_EQ(Blocking([] { return 6; }), 6);
    EXPECT_EQ(BlockingDetached([] { return 7; }).Join(), 7);
  });
}

// --- The pool.

class TestJob final : public internal::BlockingPool::Job {
 public:
  explicit TestJob(std::function<void()> f) : f_(std::move(f)) {}
  void Run() noexcept override { f_(); }

 private:
  const std::function<void()> f_;
};

TEST(NoThreadsTest, ThePoolWorksWithTheThreadsThatItHas) {
  const Watchdog watchdog;
  internal::BlockingPool pool;
  const ThreadLimit limit(2);
  std::atomic<int> ran{0};
  std::latch all_submitted(1);
  std::vector<std::unique_ptr<TestJob>> jobs;
  for (int i = 0; i < 10; ++i) {
    jobs.push_back(std::make_unique<TestJob>([&] {
      all_submitted.wait();
      ++ran;
    }));
    pool.Submit(jobs.back().get());
  }
  EXPECT_EQ(pool.threads(), 2U);
  all_submitted.count_down();
  while (!pool.quiet()) std::this_thread::yield();
  EXPECT_EQ(ran, 10);
}

// The first job has the only thread; the second waits for the third.
void AskAgain(bool at_submit) {
  const Watchdog watchdog;
  std::latch first_may_end(1);
  std::latch third_has_begun(1);
  TestJob first([&] { first_may_end.wait(); });
  TestJob second([&] { third_has_begun.wait(); });
  TestJob third([&] { third_has_begun.count_down(); });
  internal::BlockingPool pool;
  {
    const ThreadLimit limit(1);
    pool.Submit(&first);
    pool.Submit(&second);
    if (!at_submit) pool.Submit(&third);
    EXPECT_EQ(pool.threads(), 1U);
  }
  if (at_submit) {
    pool.Submit(&third);
    EXPECT_EQ(pool.threads(), 3U);
    third_has_begun.wait();
  }
  first_may_end.count_down();
  third_has_begun.wait();
  while (!pool.quiet()) std::this_thread::yield();
}

TEST(NoThreadsTest, ThePoolAsksAgainAtTheNextSubmit) { AskAgain(true); }
TEST(NoThreadsTest, ThePoolAsksAgainWhenAJobHasEnded) { AskAgain(false); }

}  // namespace
}  // namespace csp
