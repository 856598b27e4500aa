#include "csp/sched/internal/ready_queue.h"

#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "csp/sched/internal/fiber_pool.h"
#include "gtest/gtest.h"
#include "tests/support/scale.h"

namespace csp::internal {
namespace {

class FakeTask final : public TaskRecord {
 public:
  FakeTask() {
    static std::uint64_t last = 0;
    number = ++last;
  }
  void Run() noexcept override {}
  void Fail(std::exception_ptr) noexcept override {}
  void Finished() noexcept override {}
};

// Fibers that never run.
class Fibers {
 public:
  explicit Fibers(int count) {
    for (int i = 0; i < count; ++i) all_.push_back(FiberPool::Get().Acquire(0));
  }
  ~Fibers() {
    for (Fiber* fiber : all_) {
      fiber->next = nullptr;
      FiberPool::Get().Release(fiber);
    }
  }
  Fiber* operator[](int i) const { return all_[i]; }

 private:
  std::vector<Fiber*> all_;
};

Runnable Pop(ReadyQueue& queue) { return queue.Pop(ReadyQueue::Favour::kNone, false); }

TEST(ReadyQueueTest, Empty) {
  ReadyQueue queue;
  EXPECT_TRUE(queue.LooksEmpty());
  EXPECT_FALSE(Pop(queue));
  EXPECT_FALSE(queue.Pop(ReadyQueue::Favour::kNewborn, true));
  EXPECT_EQ(queue.PopOldestNewborn(), nullptr);
}

TEST(ReadyQueueTest, TheSlotComesFirstThenFibersInOrderThenTheNewestNewborn) {
  const Fibers fibers(4);
  FakeTask tasks[2];
  ReadyQueue queue;
  queue.PushNewborn(&tasks[0]);
  queue.PushNewborn(&tasks[1]);
  queue.PushBack(fibers[0]);
  queue.PushBack(fibers[1]);
  queue.PushNext(fibers[2]);
  queue.PushNext(fibers[3]);  // and [2] goes behind [1]
  EXPECT_FALSE(queue.LooksEmpty());
  for (const int i : {3, 0, 1, 2}) EXPECT_EQ(Pop(queue).fiber, fibers[i]);
  EXPECT_EQ(Pop(queue).task, &tasks[1]);
  EXPECT_EQ(Pop(queue).task, &tasks[0]);
  EXPECT_TRUE(queue.LooksEmpty());
}

TEST(ReadyQueueTest, NewbornFirst) {
  const Fibers fibers(2);
  FakeTask task;
  ReadyQueue queue;
  queue.PushBack(fibers[0]);
  queue.PushNewborn(&task);
  queue.PushNext(fibers[1]);
  EXPECT_EQ(queue.Pop(ReadyQueue::Favour::kNewborn, false).task, &task);  // before the slot, too
  EXPECT_EQ(queue.Pop(ReadyQueue::Favour::kNewborn, false).fiber, fibers[1]);
  EXPECT_EQ(queue.Pop(ReadyQueue::Favour::kNewborn, false).fiber, fibers[0]);
}

TEST(ReadyQueueTest, SlotLast) {
  const Fibers fibers(3);
  ReadyQueue queue;
  queue.PushBack(fibers[0]);
  queue.PushBack(fibers[1]);
  queue.PushNext(fibers[2]);
  for (const int i : {0, 1, 2})
    EXPECT_EQ(queue.Pop(ReadyQueue::Favour::kNone, true).fiber, fibers[i]);
}

TEST(ReadyQueueTest, WhoYieldsComesLastUnlessItIsItsTurn) {
  const Fibers fibers(4);
  FakeTask task;
  ReadyQueue queue;
  queue.PushYielded(fibers[0]);
  queue.PushYielded(fibers[1]);
  EXPECT_FALSE(queue.LooksEmpty());
  queue.PushBack(fibers[2]);
  queue.PushBack(fibers[3]);
  queue.PushNewborn(&task);
  EXPECT_EQ(Pop(queue).fiber, fibers[2]);
  EXPECT_EQ(queue.Pop(ReadyQueue::Favour::kYielded, false).fiber, fibers[0]);
  EXPECT_EQ(Pop(queue).fiber, fibers[3]);
  EXPECT_EQ(Pop(queue).task, &task);
  EXPECT_EQ(Pop(queue).fiber, fibers[1]);
  EXPECT_TRUE(queue.LooksEmpty());
}

TEST(ReadyQueueTest, AThiefTakesHalfOfThoseWhoYielded) {
  const Fibers fibers(4);
  ReadyQueue queue;
  for (int i = 0; i < 3; ++i) queue.PushYielded(fibers[i]);
  queue.PushBack(fibers[3]);
  ReadyQueue::Loot loot;
  queue.StealYielded(loot);
  EXPECT_EQ(loot.count, 2U);
  EXPECT_EQ(loot.fibers.PopFront(), fibers[0]);
  EXPECT_EQ(loot.fibers.PopFront(), fibers[1]);
  EXPECT_EQ(queue.yielded_count(), 1U);
  for (const int i : {3, 2}) EXPECT_EQ(Pop(queue).fiber, fibers[i]);
}

TEST(ReadyQueueTest, TheOldestNewborn) {
  FakeTask tasks[3];
  ReadyQueue queue;
  for (FakeTask& task : tasks) queue.PushNewborn(&task);
  EXPECT_EQ(queue.Look().oldest_newborn, tasks[0].number);
  EXPECT_EQ(queue.PopOldestNewborn(), &tasks[0]);
  EXPECT_EQ(queue.Look().oldest_newborn, tasks[1].number);
  EXPECT_EQ(Pop(queue).task, &tasks[2]);
  EXPECT_EQ(queue.PopOldestNewborn(), &tasks[1]);
  EXPECT_EQ(queue.Look().oldest_newborn, 0U);
}

TEST(ReadyQueueTest, AThiefTakesHalfOfWhatWasThereBefore) {
  const Fibers fibers(8);
  ReadyQueue queue;
  for (int i = 0; i < 5; ++i) queue.PushBack(fibers[i]);
  const ReadyQueue::Sight before = queue.Look();
  EXPECT_EQ(Pop(queue).fiber, fibers[0]);
  for (int i = 5; i < 8; ++i) queue.PushBack(fibers[i]);
  ReadyQueue::Loot loot;
  queue.StealSince(before, false, loot);
  EXPECT_EQ(loot.count, 2U);
  EXPECT_EQ(loot.fibers.PopFront(), fibers[1]);
  EXPECT_EQ(loot.fibers.PopFront(), fibers[2]);
  EXPECT_EQ(loot.fibers.PopFront(), nullptr);
  for (int i = 3; i < 8; ++i) EXPECT_EQ(Pop(queue).fiber, fibers[i]);
}

TEST(ReadyQueueTest, AThiefTakesNothingThatCameLater) {
  const Fibers fibers(3);
  ReadyQueue queue;
  queue.PushBack(fibers[0]);
  const ReadyQueue::Sight before = queue.Look();
  EXPECT_EQ(Pop(queue).fiber, fibers[0]);
  queue.PushBack(fibers[1]);
  queue.PushNext(fibers[2]);
  ReadyQueue::Loot loot;
  queue.StealSince(before, true, loot);
  EXPECT_EQ(loot.count, 0U);
}

TEST(ReadyQueueTest, TheSlotIsTakenOnlyIfItIsTheSame) {
  const Fibers fibers(2);
  ReadyQueue queue;
  queue.PushNext(fibers[0]);
  const ReadyQueue::Sight before = queue.Look();
  ReadyQueue::Loot none;
  queue.StealSince(before, false, none);
  EXPECT_EQ(none.count, 0U);
  ReadyQueue::Loot loot;
  queue.StealSince(before, true, loot);
  EXPECT_EQ(loot.count, 1U);
  EXPECT_EQ(loot.fibers.PopFront(), fibers[0]);
  EXPECT_TRUE(queue.LooksEmpty());
}

TEST(ReadyQueueTest, ThievesTakeTheOldestNewborns) {
  FakeTask tasks[5];
  ReadyQueue queue;
  for (FakeTask& task : tasks) queue.PushNewborn(&task);
  ReadyQueue::Loot loot;
  queue.StealSince(queue.Look(), false, loot);
  EXPECT_EQ(loot.count, 3U);
  ReadyQueue home;
  home.Add(loot);
  EXPECT_EQ(Pop(home).task, &tasks[2]);
  EXPECT_EQ(home.PopOldestNewborn(), &tasks[0]);
  EXPECT_EQ(Pop(home).task, &tasks[1]);
  EXPECT_EQ(Pop(queue).task, &tasks[4]);
  EXPECT_EQ(Pop(queue).task, &tasks[3]);
}

// Owner against thieves: each fiber and task is got once.
TEST(ReadyQueueTest, NothingIsLostOrGotTwice) {
  constexpr int kFibers = 64;
  constexpr int kTasks = 64;
  const Fibers fibers(kFibers);
  std::vector<FakeTask> tasks(kTasks);
  ReadyQueue queue;
  ReadyQueue returned;  // under `mu`, as if it were one thread's
  std::mutex mu;
  std::atomic<bool> over{false};
  std::atomic<int> out{0};
  std::vector<std::thread> thieves;
  for (int k = 0; k < 2; ++k) {
    thieves.emplace_back([&, k] {
      std::mt19937 random(k);
      ReadyQueue::Sight before = queue.Look();
      while (!over) {
        ReadyQueue::Loot loot;
        if (random() % 2 == 0) {
          queue.StealSince(before, random() % 2 == 0, loot);
        } else {
          queue.StealYielded(loot);
        }
        before = queue.Look();
        if (loot.count == 0) continue;
        out += static_cast<int>(loot.count);
        const std::lock_guard lock(mu);
        returned.Add(loot);
      }
    });
  }
  std::mt19937 random(5);
  std::set<const void*> inside;
  const auto push = [&](Runnable what) {
    if (what.task != nullptr) {
      queue.PushNewborn(what.task);
    } else if (const auto how = random() % 3; how == 0) {
      queue.PushNext(what.fiber);
    } else if (how == 1) {
      queue.PushBack(what.fiber);
    } else {
      queue.PushYielded(what.fiber);
    }
  };
  for (int i = 0; i < kFibers; ++i) push({fibers[i], nullptr});
  for (FakeTask& task : tasks) push({nullptr, &task});
  for (int i = 0; i < Rounds(200'000); ++i) {
    if (Runnable next = queue.Pop(static_cast<ReadyQueue::Favour>(random() % 3), random() % 8 == 0))
      push(next);
    if (i % 16 == 0) {
      const std::lock_guard lock(mu);
      while (Runnable next = Pop(returned)) push(next);
    }
  }
  over = true;
  for (std::thread& thief : thieves) thief.join();
  for (ReadyQueue* from : {&queue, &returned}) {
    while (Runnable next = Pop(*from)) {
      EXPECT_TRUE(inside
                      .insert(next.fiber != nullptr ? static_cast<const void*>(next.fiber)
                                                    : static_cast<const void*>(next.task))
                      .second);
    }
  }
  EXPECT_EQ(inside.size(), static_cast<std::size_t>(kFibers + kTasks));
}

}  // namespace
}  // namespace csp::internal
