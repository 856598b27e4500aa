// csp/sched/internal/ready_queue under every interleaving of its owner and thieves: nothing is lost,
// nothing is taken twice, and a watcher that looks before it sleeps sees whatever is there.
#include <array>
#include <deque>
#include <exception>
#include <vector>

#include "csp/sched/internal/ready_queue.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

class Task final : public TaskRecord {
 public:
  void Run() noexcept override {}
  void Fail(std::exception_ptr) noexcept override {}
  void Finished() noexcept override {}
};

// A queue, what is pushed into it, and where that ended. Fibers have the numbers 0, 1, 2, 3,
// newborn tasks 4, 5, 6, 7.
class Scene {
 public:
  explicit Scene(ModelRun& run) : run_(run) {
    run.Name(queue, "queue");
    for (int i = 0; i < 4; ++i) {
      run.Name(fibers_.emplace_back(nullptr, 0), "fiber");
      run.Name(tasks_[i], "task");
      tasks_[i].number = static_cast<std::uint64_t>(i) + 1;
    }
  }

  Fiber* Pushed(int number) {
    contents_[number].Write(number);
    return &fibers_[number];
  }
  TaskRecord* Born(int number) {
    contents_[number].Write(number);
    return &tasks_[number - 4];
  }

  // Owner. False: nothing there.
  bool Pop(ReadyQueue::Favour favour = ReadyQueue::Favour::kNone, bool slot_last = false) {
    const Runnable next = queue.Pop(favour, slot_last);
    if (next.fiber != nullptr) Take(1, next.fiber);
    if (next.task != nullptr) Take(1, next.task);
    return static_cast<bool>(next);
  }

  // Thief number 2 or 3.
  void Keep(int thief, ReadyQueue::Loot& loot) {
    std::size_t count = 0;
    for (; Fiber* fiber = loot.fibers.PopFront(); ++count) Take(thief, fiber);
    for (; TaskRecord* task = loot.newborns.tasks.PopFront(); ++count) Take(thief, task);
    run_.Check(count == loot.count, "the loot is miscounted");
  }

  // After the Join: each of `numbers` has been taken once.
  void CheckAllTaken(const std::vector<int>& numbers) {
    while (Pop()) {
    }
    run_.Check(queue.LooksEmpty(), "it looks as if there were something");
    std::array<int, 8> times{};
    for (const auto& taken : taken_) {
      for (const int number : taken) ++times[number];
    }
    for (const int number : numbers) {
      run_.Check(times[number] > 0, "lost");
      run_.Check(times[number] < 2, "taken twice");
    }
  }

  const std::vector<int>& taken(int thread) const { return taken_[thread]; }

  ReadyQueue queue;

 private:
  void Take(int thread, Fiber* fiber) {
    int number = 0;
    while (&fibers_[number] != fiber) ++number;
    taken_[thread].push_back(contents_[number].Read());
  }
  void Take(int thread, TaskRecord* task) {
    const auto number = static_cast<Task*>(task) - tasks_.data() + 4;
    taken_[thread].push_back(contents_[number].Read());
  }

  ModelRun& run_;
  std::deque<Fiber> fibers_;
  std::array<Task, 4> tasks_;
  std::array<ModelPlain<int>, 8> contents_;
  std::array<std::vector<int>, 4> taken_;  // by thread
};

class ReadyQueueModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam(), .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore([&](ModelRun& run) {
      Scene scene(run);
      body(run, scene);
    });
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
};

TEST_P(ReadyQueueModelTest, OwnerAgainstAThief) {
  bool stolen = false;
  Explore(3, [&](ModelRun& run, Scene& scene) {
    run.Thread("owner", [&] {
      scene.queue.PushYielded(scene.Pushed(0));
      scene.queue.PushNext(scene.Pushed(1));
      scene.queue.PushNewborn(scene.Born(4));
      scene.Pop();
      scene.Pop();
    });
    run.Thread("thief", [&] {
      ReadyQueue::Loot loot;
      scene.queue.StealYielded(loot);
      scene.Keep(2, loot);
    });
    run.Join();
    stolen |= !scene.taken(2).empty();
    scene.CheckAllTaken({0, 1, 4});
  });
  EXPECT_TRUE(stolen);
}

TEST_P(ReadyQueueModelTest, TwoThieves) {
  Explore(2, [](ModelRun& run, Scene& scene) {
    scene.queue.PushYielded(scene.Pushed(0));
    scene.queue.PushYielded(scene.Pushed(1));
    run.Thread("owner", [&] {
      scene.queue.PushYielded(scene.Pushed(2));
      scene.Pop();
    });
    for (const int thief : {2, 3}) {
      run.Thread("thief", [&scene, thief] {
        ReadyQueue::Loot loot;
        scene.queue.StealYielded(loot);
        scene.Keep(thief, loot);
      });
    }
    run.Join();
    scene.CheckAllTaken({0, 1, 2});
  });
}

// By waiting time: nothing is taken that was not there at the first look.
TEST_P(ReadyQueueModelTest, AThiefTakesOnlyWhatItHasSeen) {
  Explore(-1, [](ModelRun& run, Scene& scene) {
    scene.queue.PushNext(scene.Pushed(0));
    scene.queue.PushBack(scene.Pushed(1));
    scene.queue.PushNewborn(scene.Born(4));
    const ReadyQueue::Sight before = scene.queue.Look();
    run.Thread("owner", [&] {
      scene.Pop();
      scene.queue.PushNext(scene.Pushed(2));
      scene.queue.PushBack(scene.Pushed(3));
      scene.queue.PushNewborn(scene.Born(5));
    });
    run.Thread("thief", [&] {
      ReadyQueue::Loot loot;
      scene.queue.StealSince(before, true, loot);
      scene.Keep(2, loot);
    });
    run.Join();
    for (const int number : scene.taken(2)) {
      run.Check(number == 0 || number == 1 || number == 4, "something new was stolen");
    }
    scene.CheckAllTaken({0, 1, 2, 3, 4, 5});
  });
}

// What goes from one place in the queue to another is in one of them at each moment. (Nobody is told
// of it: so a watcher that saw nothing would sleep beside it.)
TEST_P(ReadyQueueModelTest, AWatcherSeesWhatMoves) {
  Explore(-1, [](ModelRun& run, Scene& scene) {
    scene.queue.PushNext(scene.Pushed(0));
    scene.queue.PushNewborn(scene.Born(4));
    run.Thread("owner", [&] {
      scene.Pop(ReadyQueue::Favour::kNewborn, true);
    });  // the newborn; the other stays
    run.Thread("watcher", [&] {
      HeavyBarrier();
      run.Check(!scene.queue.LooksEmpty(), "looks empty, though a fiber is there all the time");
    });
    run.Join();
    scene.CheckAllTaken({0, 4});
  });
}

// What is pushed is seen, or its owner sees that somebody is about to sleep.
TEST_P(ReadyQueueModelTest, AWatcherSeesWhatIsPushed) {
  for (const int how : {0, 1, 2, 3}) {
    Explore(-1, [how](ModelRun& run, Scene& scene) {
      Atomic<bool> sleeps{false};
      bool owner_saw = false;
      bool watcher_saw = false;
      run.Thread("owner", [&] {
        if (how == 0) scene.queue.PushBack(scene.Pushed(0));
        if (how == 1) scene.queue.PushNext(scene.Pushed(0));
        if (how == 2) scene.queue.PushNewborn(scene.Born(4));
        if (how == 3) scene.queue.PushYielded(scene.Pushed(0));
        LightBarrier();
        owner_saw = sleeps.load(std::memory_order_relaxed);
      });
      run.Thread("watcher", [&] {
        sleeps.store(true, std::memory_order_relaxed);
        HeavyBarrier();
        watcher_saw = !scene.queue.LooksEmpty();
      });
      run.Join();
      run.Check(owner_saw || watcher_saw, "neither has seen the other");
      scene.CheckAllTaken({how == 2 ? 4 : 0});
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, ReadyQueueModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
