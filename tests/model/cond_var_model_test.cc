// csp/sync/cond_var under every interleaving: a notification wakes exactly one of those who wait,
// whatever limit or cancellation comes in between, and the mutex is held on every way out.
#include <array>
#include <cstdint>
#include <string>

#include "csp/base/panic.h"
#include "csp/select/blocking.h"
#include "csp/sync/cond_var.h"
#include "csp/sync/mutex.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

// Debug builds take more steps (a mutex notes its owner), and are slower at each.
#ifdef NDEBUG
constexpr int kPreemptions = 2;
#else
constexpr int kPreemptions = 1;
#endif

// Tokens under a mutex, and a condition variable that says when there is one.
struct Tokens {
  Mutex mu;
  CondVar cv;
  ModelPlain<int> kept{0};

  void Give() {
    mu.lock();
    kept.Write(kept.Read() + 1);
    mu.unlock();
    cv.NotifyOne();
  }

  // False: cancelled.
  bool Take() {
    mu.lock();
    bool took = true;
    try {
      while (kept.Read() == 0) cv.Wait(mu);
      kept.Write(kept.Read() - 1);
    } catch (const Cancelled&) {
      kept.Read();  // a race, if the mutex is not held
      took = false;
    }
    mu.unlock();
    return took;
  }

  // False: the limit has passed.
  bool TakeUntil(std::int64_t deadline) {
    mu.lock();
    bool took = false;
    do {
      took = kept.Read() > 0;
    } while (!took && cv.WaitUntil(mu, absl::FromUnixNanos(deadline)));
    took = kept.Read() > 0;
    if (took) kept.Write(kept.Read() - 1);
    mu.unlock();
    return took;
  }
};

class CondVarModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam(), .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore(body);
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
};

TEST_P(CondVarModelTest, ANotificationIsNotLost) {
  Explore(kPreemptions + 1, [](ModelRun& run) {
    Tokens tokens;
    std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
    run.Thread("taker", [&] {
      parkers[0].Enter();
      run.Check(tokens.Take(), "cancelled");
    });
    run.Thread("giver", [&] {
      parkers[1].Enter();
      tokens.Give();
    });
    run.Join();
    run.Check(tokens.kept.Read() == 0, "the token is there still");
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

// One token, two takers, of whom one is cancelled: if he does not get it the other does, though the
// notification may have come to the cancelled one's place in the line.
TEST_P(CondVarModelTest, ACancelledWaitDoesNotKeepANotification) {
  std::array<int, 2> outcomes{};
  Explore(kPreemptions, [&](ModelRun& run) {
    Tokens tokens;
    std::array<ModelParker, 3> parkers{ModelParker(run), ModelParker(run), ModelParker(run)};
    bool cancelled_took = false;
    run.Thread("cancelled", [&] {
      parkers[0].Enter();
      cancelled_took = tokens.Take();
      if (cancelled_took) tokens.Give();  // there is one for each
    });
    run.Thread("taker", [&] {
      parkers[1].Enter();
      run.Check(tokens.Take(), "cancelled");
    });
    run.Thread("giver", [&] {
      parkers[2].Enter();
      tokens.Give();
    });
    run.Thread("canceller", [&] { CancelParker(parkers[0], ModelParker::kTask); });
    run.Join();
    run.Check(tokens.kept.Read() == 0, "the token is there still");
    for (ModelParker& parker : parkers) parker.CheckQuiet();
    ++outcomes[cancelled_took ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

TEST_P(CondVarModelTest, ALimitMeetsANotification) {
  std::array<int, 2> outcomes{};
  Explore(kPreemptions, [&](ModelRun& run) {
    Tokens tokens;
    ModelTime time;
    std::array<ModelParker, 2> parkers{ModelParker(run), ModelParker(run)};
    bool took = false;
    run.Thread("taker", [&] {
      parkers[0].Enter();
      took = tokens.TakeUntil(10);
    });
    run.Thread("giver", [&] {
      parkers[1].Enter();
      tokens.Give();
    });
    run.Thread("time", [&] { time.Pass(20); });
    run.Join();
    run.Check(tokens.kept.Read() == (took ? 0 : 1), "the token is not in one place");
    for (ModelParker& parker : parkers) parker.CheckQuiet();
    ++outcomes[took ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

TEST_P(CondVarModelTest, NotifyAllWakesBoth) {
  Explore(kPreemptions, [](ModelRun& run) {
    Mutex mu;
    CondVar cv;
    ModelPlain<bool> go{false};
    std::array<ModelParker, 3> parkers{ModelParker(run), ModelParker(run), ModelParker(run)};
    for (int i = 0; i < 2; ++i) {
      run.Thread("waiter " + std::to_string(i), [&, i] {
        parkers[i].Enter();
        mu.lock();
        while (!go.Read()) cv.Wait(mu);
        mu.unlock();
      });
    }
    run.Thread("notifier", [&] {
      parkers[2].Enter();
      mu.lock();
      go.Write(true);
      mu.unlock();
      cv.NotifyAll();
    });
    run.Join();
    for (ModelParker& parker : parkers) parker.CheckQuiet();
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, CondVarModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
