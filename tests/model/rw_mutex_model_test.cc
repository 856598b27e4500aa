// csp/sync/rw_mutex under every interleaving: one writer or readers, the line moves up whoever gives
// up, and whoever gets it may destroy it.
#include <memory>

#include "csp/select/block.h"
#include "csp/sync/rw_mutex.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

using RWMutexModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(RWMutexModelTest);

// What follows does more with locks than clang's analysis can follow.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

// What it guards: a writer beside anybody races.
struct Guarded {
  RWMutex mu;
  ModelPlain<int> value{0};

  void Write() {
    mu.lock();
    value.Write(value.Read() + 1);
    mu.unlock();
  }
  int Read() {
    mu.lock_shared();
    const int read = value.Read();
    mu.unlock_shared();
    return read;
  }
};

bool TryLockUntil(RWMutex& mu, std::int64_t deadline) {
  return mu.try_lock_until(absl::FromUnixNanos(deadline));
}

bool LockUnlessCancelled(RWMutex& mu) {
  return NotCancelled([&] {
    RWMutex::LockEvent lock(mu);
    BlockUntil(lock, kForever);
  });
}

void CheckFree(ModelRun& run, RWMutex& mu) {
  run.Check(mu.try_lock(), "somebody has it still");
  mu.unlock();
}

TEST_P(RWMutexModelTest, AWriterIsAlone) {
  Explore(3, [](ModelRun& run) {
    Guarded guarded;
    Actors<2> actors(run);
    actors.Start("writer", [&] { guarded.Write(); });
    actors.Start("reader", [&] { run.Check(guarded.Read() <= 1, "never written"); });
    actors.Join();
    CheckFree(run, guarded.mu);
  });
}

TEST_P(RWMutexModelTest, TwoWritersAndAReader) {
  Explore(1, [](ModelRun& run) {
    Guarded guarded;
    Actors<3> actors(run);
    actors.Start("writer", [&] { guarded.Write(); });
    actors.Start("another", [&] { guarded.Write(); });
    actors.Start("reader", [&] { (void)guarded.Read(); });
    actors.Join();
    run.Check(guarded.value.Read() == 2, "a writer was not alone");
    CheckFree(run, guarded.mu);
  });
}

// The reader behind a writer who is cancelled goes in to the one who is inside, who waits for it.
TEST_P(RWMutexModelTest, AWriterThatGivesUpLetsTheReadersIn) {
  Explore(1, [](ModelRun& run) {
    RWMutex mu;
    Atomic<bool> together{false};
    Actors<3> actors(run);
    run.Check(mu.try_lock_shared(), "it is free");
    actors.Start("inside", [&] {
      while (!together.load()) CpuRelax();
      mu.unlock_shared();
    });
    actors.Start("writer", [&] {
      if (LockUnlessCancelled(mu)) mu.unlock();  // it came after both
    });
    actors.Start("reader", [&] {
      mu.lock_shared();
      together.store(true);
      mu.unlock_shared();
    });
    actors.StartCanceller(1);
    actors.Join();
    CheckFree(run, mu);
  });
}

TEST_P(RWMutexModelTest, AWriterGetsItOrIsCancelled) {
  BothEnds got;
  Explore(3, [&](ModelRun& run) {
    Guarded guarded;
    Actors<1> actors(run);
    run.Check(guarded.mu.try_lock_shared(), "it is free");
    bool locked = false;
    actors.Start("writer", [&] {
      locked = LockUnlessCancelled(guarded.mu);
      if (!locked) return;
      guarded.value.Write(1);
      guarded.mu.unlock();
    });
    run.Thread("reader", [&] { guarded.mu.unlock_shared(); });
    actors.StartCanceller();
    actors.Join();
    CheckFree(run, guarded.mu);
    got.Saw(locked);
  });
}

TEST_P(RWMutexModelTest, ALimitMeetsAnUnlock) {
  BothEnds got;
  Explore(3, [&](ModelRun& run) {
    RWMutex mu;
    ModelTime time;
    Actors<1> actors(run);
    run.Check(mu.try_lock_shared(), "it is free");
    bool locked = false;
    actors.Start("writer", [&] {
      locked = TryLockUntil(mu, 10);
      if (locked) mu.unlock();
    });
    run.Thread("reader", [&] { mu.unlock_shared(); });
    run.Thread("time", [&] { time.Pass(20); });
    actors.Join();
    CheckFree(run, mu);
    got.Saw(locked);
  });
}

// Also while the unlock that lets it in is on its way out.
TEST_P(RWMutexModelTest, WhoGetsItMayDestroyIt) {
  for (const bool reads : {false, true}) {
    Explore(-1, [reads](ModelRun& run) {
      auto mu = std::make_unique<RWMutex>();
      Actors<1> actors(run);
      run.Check(reads ? mu->try_lock() : mu->try_lock_shared(), "it is free");
      run.Thread("owner",
                 [reads, raw = mu.get()] { reads ? raw->unlock() : raw->unlock_shared(); });
      actors.Start("waiter", [&] {
        reads ? mu->lock_shared() : mu->lock();
        reads ? mu->unlock_shared() : mu->unlock();
        mu.reset();
      });
      actors.Join();
    });
  }
}

}  // namespace
}  // namespace csp::internal
