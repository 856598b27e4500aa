// csp/sync/mutex under every interleaving: one at a time, no unlock is missed by who waits, whoever
// gives up leaves nothing, and the one who gets the lock may destroy it.
#include <memory>
#include <mutex>
#include <string>

#include "csp/base/clock.h"
#include "csp/base/panic.h"
#include "csp/select/block.h"
#include "csp/sync/mutex.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

// What follows does more with locks than clang's analysis can follow.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

class MutexModelTest : public ModelTest {
 protected:
  // What a mutex guards: two inside at a time race.
  struct Guarded {
    Mutex mu;
    ModelPlain<int> count{0};
    void Add() { count.Write(count.Read() + 1); }
    void LockAndAdd() {
      mu.lock();
      Add();
      mu.unlock();
    }
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
    Actors<2> actors(run);
    for (int i = 0; i < 2; ++i) {
      actors.Start("locker " + std::to_string(i), [&] { guarded.LockAndAdd(); });
    }
    actors.Join();
    CheckFree(run, actors[0], guarded, 2);
  });
}

TEST_P(MutexModelTest, ThreeWant) {
  Explore(2, [](ModelRun& run) {
    Guarded guarded;
    Actors<3> actors(run);
    for (int i = 0; i < 3; ++i) {
      actors.Start("locker " + std::to_string(i), [&] { guarded.LockAndAdd(); });
    }
    actors.Join();
    CheckFree(run, actors[0], guarded, 3);
  });
}

// One who takes it again and again: the woken one comes too late, is handed the lock, or finds it
// reserved (a model's bound is two passes).
TEST_P(MutexModelTest, AWokenOneIsPassedOver) {
  Explore(3, [](ModelRun& run) {
    Guarded guarded;
    Actors<2> actors(run);
    actors.Start("waiter", [&] { guarded.LockAndAdd(); });
    actors.Start("barger", [&] {
      for (int i = 0; i < 4; ++i) guarded.LockAndAdd();
    });
    actors.Join();
    CheckFree(run, actors[0], guarded, 5);
  });
}

TEST_P(MutexModelTest, AWaitIsHandedTheLockOrCancelled) {
  BothEnds ends;
  Explore(3, [&](ModelRun& run) {
    Guarded guarded;
    Actors<2> actors(run);
    bool got = false;
    actors.Start("waiter", [&] {
      got = LockOrCancelled(guarded.mu);
      if (!got) return;
      guarded.Add();
      guarded.mu.unlock();
    });
    actors.Start("owner", [&] { guarded.LockAndAdd(); });
    actors.StartCanceller();
    actors.Join();
    CheckFree(run, actors[1], guarded, got ? 2 : 1);
    ends.Saw(got);
  });
}

// lock() is not cancelled, and one that gives up before it does not take its turn.
TEST_P(MutexModelTest, OneWaitsBehindOneThatGivesUp) {
  Explore(2, [](ModelRun& run) {
    Guarded guarded;
    Actors<3> actors(run);
    bool got = false;
    actors.Start("gives up", [&] {
      got = LockOrCancelled(guarded.mu);
      if (got) guarded.mu.unlock();
    });
    for (int i = 1; i < 3; ++i) {
      actors.Start("locker " + std::to_string(i), [&] { guarded.LockAndAdd(); });
    }
    run.Thread("canceller", [&] {
      for (int i = 0; i < 3; ++i) CancelParker(actors[i], ModelParker::kTask);
    });
    actors.Join();
    CheckFree(run, actors[1], guarded, 2);
  });
}

TEST_P(MutexModelTest, ALimitMeetsAnUnlock) {
  Explore(2, [](ModelRun& run) {
    Guarded guarded;
    ModelTime time;
    Actors<2> actors(run);
    bool got = false;
    actors.Start("waiter", [&] {
      got = LockOrCancelled(guarded.mu, 10);
      if (!got) return;
      guarded.Add();
      guarded.mu.unlock();
    });
    actors.Start("owner", [&] { guarded.LockAndAdd(); });
    run.Thread("time", [&] { time.Pass(20); });
    actors.Join();
    CheckFree(run, actors[1], guarded, got ? 2 : 1);
  });
}

// Both kinds of wait; the explorer fails an access of an atomic that has been destroyed.
TEST_P(MutexModelTest, WhoGetsItMayDestroyIt) {
  for (const bool timed : {false, true}) {
    Explore(-1, [timed](ModelRun& run) {
      auto mu = std::make_unique<Mutex>();
      Actors<2> actors(run);
      Atomic<bool> locked{false};
      actors.Start("owner", [&] {
        mu->lock();
        Mutex* raw = mu.get();
        locked.store(true, std::memory_order_release);
        raw->unlock();
      });
      actors.Start("waiter", [&] {
        while (!locked.load(std::memory_order_acquire)) CpuRelax();
        if (timed) {
          run.Check(LockOrCancelled(*mu), "cancelled");
        } else {
          mu->lock();
        }
        mu->unlock();
        mu.reset();
      });
      actors.Join();
    });
  }
}

CSP_INSTANTIATE_MODEL(MutexModelTest);

}  // namespace
}  // namespace csp::internal
