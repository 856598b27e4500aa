#include "csp/sched/internal/inject_queue.h"

#include <atomic>
#include <thread>
#include <vector>

#include "csp/sched/internal/fiber_pool.h"
#include "gtest/gtest.h"
#include "tests/support/scale.h"

namespace csp::internal {
namespace {

class FakeTask final : public TaskRecord {
 public:
  void Run() noexcept override {}
  void Fail(std::exception_ptr) noexcept override {}
  void Finished() noexcept override {}
};

TEST(InjectQueueTest, FirstInFirstOut) {
  InjectQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.PopTask(), nullptr);
  Fiber* fibers[3];
  for (Fiber*& fiber : fibers) queue.Push(fiber = FiberPool::Get().Acquire(0));
  FakeTask tasks[2];
  for (FakeTask& task : tasks) queue.Push(&task);
  EXPECT_EQ(queue.size(), 5U);
  EXPECT_EQ(queue.task_count(), 2U);
  int visits = 0;
  queue.ForEachTask([&](TaskRecord&) { return ++visits < 1; });
  EXPECT_EQ(visits, 1);  // no more than it asked for

  Fiber* out[8] = {};
  EXPECT_EQ(queue.PopFibers(out, 2), 2U);
  EXPECT_EQ(out[0], fibers[0]);
  EXPECT_EQ(out[1], fibers[1]);
  EXPECT_EQ(queue.PopTask(), &tasks[0]);
  int visited = 0;
  queue.ForEachTask([&](TaskRecord& task) {
    ++visited;
    EXPECT_EQ(&task, &tasks[1]);
    return true;
  });
  EXPECT_EQ(visited, 1);
  EXPECT_EQ(queue.task_count(), 1U);
  EXPECT_EQ(queue.PopFibers(out, 8), 1U);
  EXPECT_EQ(out[0], fibers[2]);
  EXPECT_EQ(queue.PopFibers(out, 8), 0U);
  EXPECT_EQ(queue.PopTask(), &tasks[1]);
  EXPECT_TRUE(queue.empty());
  for (Fiber* fiber : fibers) {
    fiber->next = nullptr;
    FiberPool::Get().Release(fiber);
  }
}

TEST(InjectQueueTest, ManyPushersAndTakers) {
  constexpr int kPushers = 3;
  const int rounds = Rounds(50'000);
  InjectQueue queue;
  std::vector<std::vector<FakeTask>> tasks;
  for (int k = 0; k < kPushers; ++k) tasks.emplace_back(rounds);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < kPushers; ++k) {
    threads.emplace_back([&, k] {
      for (FakeTask& task : tasks[k]) queue.Push(&task);
    });
  }
  for (int k = 0; k < 2; ++k) {
    threads.emplace_back([&] {
      while (taken < kPushers * rounds) {
        if (TaskRecord* task = queue.PopTask()) {
          EXPECT_EQ(task->number++, 0U);
          ++taken;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace csp::internal
