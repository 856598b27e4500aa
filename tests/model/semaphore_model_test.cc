// csp/sync/semaphore under every interleaving: permits are in one place, the line moves up whoever
// gives up, and the one who is served may destroy it.
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "csp/base/panic.h"
#include "csp/select/blocking.h"
#include "csp/sync/semaphore.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelRun;

class SemaphoreModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam(), .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore(body);
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }

  // False: cancelled.
  static bool Acquire(Semaphore& semaphore, std::int64_t weight) {
    try {
      semaphore.Acquire(weight);
      return true;
    } catch (const Cancelled&) {
      return false;
    }
  }
};

TEST_P(SemaphoreModelTest, ThePermitsAreTakenOrTheWaitIsCancelled) {
  std::array<int, 2> outcomes{};
  Explore(3, [&](ModelRun& run) {
    Semaphore semaphore(2, 0);
    ModelParker waiter(run);
    bool got = false;
    run.Thread("waiter", [&] {
      waiter.Enter();
      got = Acquire(semaphore, 2);
    });
    run.Thread("releaser", [&] {
      semaphore.Release(1);
      semaphore.Release(1);
    });
    run.Thread("canceller", [&] { CancelParker(waiter, ModelParker::kTask); });
    run.Join();
    run.Check(semaphore.available() == (got ? 0 : 2), "a permit is not in one place");
    waiter.CheckQuiet();
    ++outcomes[got ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

// The head wants more than there is and is cancelled; the one behind him must not wait on.
TEST_P(SemaphoreModelTest, TheLineMovesUp) {
  Explore(2, [](ModelRun& run) {
    Semaphore semaphore(3, 1);
    std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
    run.Thread("head", [&] {
      parkers[0].Enter();
      run.Check(!Acquire(semaphore, 3), "there are not as many");
    });
    run.Thread("next", [&] {
      parkers[1].Enter();
      run.Check(Acquire(semaphore, 1), "cancelled");
    });
    run.Thread("canceller", [&] { CancelParker(parkers[0], ModelParker::kTask); });
    run.Join();
    run.Check(semaphore.available() == 0, "the permit is not in one place");
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

TEST_P(SemaphoreModelTest, ALimitMeetsARelease) {
  std::array<int, 2> outcomes{};
  Explore(3, [&](ModelRun& run) {
    Semaphore semaphore(1, 0);
    ModelTime time;
    ModelParker waiter(run);
    bool got = false;
    run.Thread("waiter", [&] {
      waiter.Enter();
      got = semaphore.AcquireUntil(absl::FromUnixNanos(10));
    });
    run.Thread("releaser", [&] { semaphore.Release(); });
    run.Thread("time", [&] { time.Pass(20); });
    run.Join();
    run.Check(semaphore.available() == (got ? 0 : 1), "the permit is not in one place");
    waiter.CheckQuiet();
    ++outcomes[got ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

// Two take and give back; nobody is left in the line.
TEST_P(SemaphoreModelTest, TwoShareOne) {
  Explore(3, [](ModelRun& run) {
    Semaphore semaphore(1);
    std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
    for (int i = 0; i < 2; ++i) {
      run.Thread("taker " + std::to_string(i), [&, i] {
        parkers[i].Enter();
        semaphore.Acquire();
        semaphore.Release();
      });
    }
    run.Join();
    run.Check(semaphore.available() == 1, "the permit has gone");
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

TEST_P(SemaphoreModelTest, WhoIsServedMayDestroyIt) {
  Explore(-1, [](ModelRun& run) {
    auto semaphore = std::make_unique<Semaphore>(1, 0);
    ModelParker waiter(run);
    Semaphore* raw = semaphore.get();
    run.Thread("releaser", [raw] { raw->Release(); });
    run.Thread("waiter", [&] {
      waiter.Enter();
      semaphore->Acquire();
      semaphore.reset();
    });
    run.Join();
    waiter.CheckQuiet();
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, SemaphoreModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
