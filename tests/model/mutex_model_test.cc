// csp/sync/mutex under every interleaving: one at a time, no unlock is missed by who waits, whoever
// gives up leaves nothing, and the one who gets the lock may destroy it.
#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "csp/base/clock.h"
#include "csp/base/panic.h"
#include "csp/select/block.h"
#include "csp/sync/mutex.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

// What follows does more with locks than clang's analysis can follow.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

class MutexModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam(), .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore(body);
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }

  // What a mutex guards: two inside at a time race.
  struct Guarded {
    Mutex mu;
    ModelPlain<int> count{0};
    void Add() { count.Write(count.Read() + 1); }
  };

  // As OnLock in a select, or a timed lock: false if cancelled.
  static bool LockOrCancelled(Mutex& mu, std::int64_t deadline = kForever) {
    Mutex::LockEvent event(mu);
    try {
      return BlockUntil(event, deadline);
    } catch (const Cancelled&) {
      return false;
    }
  }

  // Nobody has it, nobody waits, and no mark says so.
  static void CheckFree(ModelRun& run, ModelParker& parker, Guarded& guarded, int count) {
    run.Thread("after", [&] {
      parker.Enter();
      run.Check(guarded.mu.try_lock(), "somebody has the lock still");
      run.Check(guarded.count.Read() == count, "somebody was not inside");
      guarded.mu.unlock();
    });
    run.Join();
  }
};

TEST_P(MutexModelTest, OneAtATime) {
  Explore(-1, [](ModelRun& run) {
    Guarded guarded;
    std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
    for (int i = 0; i < 2; ++i) {
      run.Thread("locker " + std::to_string(i), [&, i] {
        parkers[i].Enter();
        guarded.mu.lock();
        guarded.Add();
        guarded.mu.unlock();
      });
    }
    run.Join();
    CheckFree(run, parkers[0], guarded, 2);
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

TEST_P(MutexModelTest, ThreeWant) {
  Explore(2, [](ModelRun& run) {
    Guarded guarded;
    std::array<ModelParker, 3> parkers{ModelParker(run), ModelParker(run), ModelParker(run)};
    for (int i = 0; i < 3; ++i) {
      run.Thread("locker " + std::to_string(i), [&, i] {
        parkers[i].Enter();
        guarded.mu.lock();
        guarded.Add();
        guarded.mu.unlock();
      });
    }
    run.Join();
    CheckFree(run, parkers[0], guarded, 3);
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

// One who takes it again and again: the woken one comes too late, is handed the lock, or finds it
// reserved (a model's bound is two passes).
TEST_P(MutexModelTest, AWokenOneIsPassedOver) {
  Explore(3, [](ModelRun& run) {
    Guarded guarded;
    std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
    run.Thread("waiter", [&] {
      parkers[0].Enter();
      guarded.mu.lock();
      guarded.Add();
      guarded.mu.unlock();
    });
    run.Thread("barger", [&] {
      parkers[1].Enter();
      for (int i = 0; i < 4; ++i) {
        guarded.mu.lock();
        guarded.Add();
        guarded.mu.unlock();
      }
    });
    run.Join();
    CheckFree(run, parkers[0], guarded, 5);
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

TEST_P(MutexModelTest, AWaitIsHandedTheLockOrCancelled) {
  std::array<int, 2> outcomes{};
  Explore(3, [&](ModelRun& run) {
    Guarded guarded;
    std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
    bool got = false;
    run.Thread("waiter", [&] {
      parkers[0].Enter();
      got = LockOrCancelled(guarded.mu);
      if (!got) return;
      guarded.Add();
      guarded.mu.unlock();
    });
    run.Thread("owner", [&] {
      parkers[1].Enter();
      guarded.mu.lock();
      guarded.Add();
      guarded.mu.unlock();
    });
    run.Thread("canceller", [&] { CancelParker(parkers[0], ModelParker::kTask); });
    run.Join();
    CheckFree(run, parkers[1], guarded, got ? 2 : 1);
    for (ModelParker& parker : parkers) parker.CheckQuiet();
    ++outcomes[got ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

// lock() is not cancelled, and one that gives up before it does not take its turn.
TEST_P(MutexModelTest, OneWaitsBehindOneThatGivesUp) {
  Explore(2, [](ModelRun& run) {
    Guarded guarded;
    std::array<ModelParker, 3> parkers{ModelParker(run), ModelParker(run), ModelParker(run)};
    bool got = false;
    run.Thread("gives up", [&] {
      parkers[0].Enter();
      got = LockOrCancelled(guarded.mu);
      if (got) guarded.mu.unlock();
    });
    for (int i = 1; i < 3; ++i) {
      run.Thread("locker " + std::to_string(i), [&, i] {
        parkers[i].Enter();
        guarded.mu.lock();
        guarded.Add();
        guarded.mu.unlock();
      });
    }
    run.Thread("canceller", [&] {
      for (ModelParker& parker : parkers) CancelParker(parker, ModelParker::kTask);
    });
    run.Join();
    CheckFree(run, parkers[1], guarded, 2);
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

TEST_P(MutexModelTest, ALimitMeetsAnUnlock) {
  Explore(2, [](ModelRun& run) {
    Guarded guarded;
    ModelTime time;
    std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
    bool got = false;
    run.Thread("waiter", [&] {
      parkers[0].Enter();
      got = LockOrCancelled(guarded.mu, 10);
      if (!got) return;
      guarded.Add();
      guarded.mu.unlock();
    });
    run.Thread("owner", [&] {
      parkers[1].Enter();
      guarded.mu.lock();
      guarded.Add();
      guarded.mu.unlock();
    });
    run.Thread("time", [&] { time.Pass(20); });
    run.Join();
    CheckFree(run, parkers[1], guarded, got ? 2 : 1);
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

// Both kinds of wait; the explorer fails an access of an atomic that has been destroyed.
TEST_P(MutexModelTest, WhoGetsItMayDestroyIt) {
  for (const bool timed : {false, true}) {
    Explore(-1, [timed](ModelRun& run) {
      auto mu = std::make_unique<Mutex>();
      std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
      Atomic<bool> locked{false};
      run.Thread("owner", [&] {
        parkers[0].Enter();
        mu->lock();
        Mutex* raw = mu.get();
        locked.store(true, std::memory_order_release);
        raw->unlock();
      });
      run.Thread("waiter", [&] {
        parkers[1].Enter();
        while (!locked.load(std::memory_order_acquire)) CpuRelax();
        if (timed) {
          run.Check(LockOrCancelled(*mu), "cancelled");
        } else {
          mu->lock();
        }
        mu->unlock();
        mu.reset();
      });
      run.Join();
      for (ModelParker& parker : parkers) parker.CheckQuiet();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, MutexModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
