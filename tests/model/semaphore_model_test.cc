// csp/sync/semaphore under every interleaving: permits are in one place, the line moves up whoever
// gives up, and the one who is served may destroy it.
#include <cstdint>
#include <memory>
#include <string>

#include "csp/base/panic.h"
#include "csp/select/blocking.h"
#include "csp/sync/semaphore.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

using SemaphoreModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(SemaphoreModelTest);

// False: cancelled.
bool Acquire(Semaphore& semaphore, std::int64_t weight) {
  return NotCancelled([&] { semaphore.Acquire(weight); });
}

TEST_P(SemaphoreModelTest, ThePermitsAreTakenOrTheWaitIsCancelled) {
  BothEnds ends;
  Explore(3, [&](ModelRun& run) {
    Semaphore semaphore(2, 0);
    Actors<1> actors(run);
    bool got = false;
    actors.Start("waiter", [&] { got = Acquire(semaphore, 2); });
    run.Thread("releaser", [&] {
      semaphore.Release(1);
      semaphore.Release(1);
    });
    actors.StartCanceller();
    actors.Join();
    run.Check(semaphore.available() == (got ? 0 : 2), "a permit is not in one place");
    ends.Saw(got);
  });
}

// The head wants more than there is and is cancelled; the one behind him must not wait on.
TEST_P(SemaphoreModelTest, TheLineMovesUp) {
  Explore(2, [](ModelRun& run) {
    Semaphore semaphore(3, 1);
    Actors<2> actors(run);
    actors.Start("head", [&] { run.Check(!Acquire(semaphore, 3), "there are not as many"); });
    actors.Start("next", [&] { run.Check(Acquire(semaphore, 1), "cancelled"); });
    actors.StartCanceller();
    actors.Join();
    run.Check(semaphore.available() == 0, "the permit is not in one place");
  });
}

TEST_P(SemaphoreModelTest, ALimitMeetsARelease) {
  BothEnds ends;
  Explore(3, [&](ModelRun& run) {
    Semaphore semaphore(1, 0);
    ModelTime time;
    Actors<1> actors(run);
    bool got = false;
    actors.Start("waiter", [&] { got = semaphore.AcquireUntil(absl::FromUnixNanos(10)); });
    run.Thread("releaser", [&] { semaphore.Release(); });
    run.Thread("time", [&] { time.Pass(20); });
    actors.Join();
    run.Check(semaphore.available() == (got ? 0 : 1), "the permit is not in one place");
    ends.Saw(got);
  });
}

// Two take and give back; nobody is left in the line.
TEST_P(SemaphoreModelTest, TwoShareOne) {
  Explore(3, [](ModelRun& run) {
    Semaphore semaphore(1);
    Actors<2> actors(run);
    for (int i = 0; i < 2; ++i) {
      actors.Start("taker " + std::to_string(i), [&] {
        semaphore.Acquire();
        semaphore.Release();
      });
    }
    actors.Join();
    run.Check(semaphore.available() == 1, "the permit has gone");
  });
}

TEST_P(SemaphoreModelTest, WhoIsServedMayDestroyIt) {
  Explore(-1, [](ModelRun& run) {
    auto semaphore = std::make_unique<Semaphore>(1, 0);
    Actors<1> actors(run);
    Semaphore* raw = semaphore.get();
    run.Thread("releaser", [raw] { raw->Release(); });
    actors.Start("waiter", [&] {
      semaphore->Acquire();
      semaphore.reset();
    });
    actors.Join();
  });
}

}  // namespace
}  // namespace csp::internal
