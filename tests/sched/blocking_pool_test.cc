#include "csp/sched/blocking_pool.h"

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp::internal {
namespace {

class TestJob final : public BlockingPool::Job {
 public:
  explicit TestJob(std::function<void()> f) : f_(std::move(f)) {}
  void Run() noexcept override { f_(); }

 private:
  const std::function<void()> f_;
};

TEST(BlockingPoolTest, RunsJobsInOrderOnOneThreadWhereOneIsEnough) {
  BlockingPool pool;
  EXPECT_EQ(pool.threads(), 0U);
  std::set<std::thread::id> threads;
  for (int i = 0; i < 100; ++i) {
    TestJob job([&] { threads.insert(std::this_thread::get_id()); });
    pool.Submit(&job);
    while (!pool.quiet()) std::this_thread::yield();
  }
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_EQ(pool.threads(), 1U);
  EXPECT_EQ(pool.calls(), 0U);
}

TEST(BlockingPoolTest, StartsAThreadForEachJobThatBlocks) {
  const Watchdog watchdog;
  BlockingPool pool;
  constexpr int kJobs = 20;
  std::atomic<int> inside{0};
  std::vector<std::unique_ptr<TestJob>> jobs;
  for (int i = 0; i < kJobs; ++i) {
    jobs.push_back(std::make_unique<TestJob>([&] {
      ++inside;
      while (inside < kJobs) std::this_thread::yield();  // all at once, or never
    }));
    pool.Submit(jobs.back().get());
  }
  while (!pool.quiet()) std::this_thread::yield();
  EXPECT_EQ(inside, kJobs);
}

TEST(BlockingPoolTest, NoMoreThreadsThanTheLimit) {
  const Watchdog watchdog;
  BlockingPool pool;
  std::atomic<int> ran{0};
  std::latch go_on(1);
  std::vector<std::unique_ptr<TestJob>> jobs;
  const int count = static_cast<int>(BlockingPool::kMaxThreads) + 50;
  for (int i = 0; i < count; ++i) {
    jobs.push_back(std::make_unique<TestJob>([&] {
      go_on.wait();
      ++ran;
    }));
    pool.Submit(jobs.back().get());
  }
  EXPECT_EQ(pool.threads(), BlockingPool::kMaxThreads);
  EXPECT_FALSE(pool.quiet());
  EXPECT_EQ(pool.calls(), static_cast<std::size_t>(count));
  go_on.count_down();
  while (!pool.quiet()) std::this_thread::yield();
  EXPECT_EQ(ran, count);
}

TEST(BlockingPoolTest, TheEndWaitsForTheThreads) {
  const Watchdog watchdog;
  for (int i = 0; i < Rounds(200); ++i) {
    std::atomic<int> ran{0};
    std::vector<std::unique_ptr<TestJob>> jobs;
    {
      BlockingPool pool;
      for (int k = 0; k < 3; ++k) {
        jobs.push_back(std::make_unique<TestJob>([&] { ++ran; }));
        pool.Submit(jobs.back().get());
      }
    }
    ASSERT_EQ(ran, 3);
  }
}

TEST(BlockingPoolTest, ManySubmitters) {
  const Watchdog watchdog;
  BlockingPool pool;
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) {
    threads.emplace_back([&] {
      for (int i = 0; i < Rounds(2000); ++i) {
        std::atomic<bool> done{false};
        TestJob job([&] {
          ++ran;
          done = true;
        });
        pool.Submit(&job);
        while (!done) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 3 * Rounds(2000));
}

}  // namespace
}  // namespace csp::internal
