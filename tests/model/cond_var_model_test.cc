// csp/sync/cond_var under every interleaving: a notification wakes exactly one of those who wait,
// whatever limit or cancellation comes in between, and the mutex is held on every way out.
#include <cstdint>
#include <string>

#include "csp/base/panic.h"
#include "csp/select/blocking.h"
#include "csp/sync/cond_var.h"
#include "csp/sync/mutex.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

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

using CondVarModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(CondVarModelTest);

TEST_P(CondVarModelTest, ANotificationIsNotLost) {
  Explore(kPreemptions + 1, [](ModelRun& run) {
    Tokens tokens;
    Actors<2> actors(run);
    actors.Start("taker", [&] { run.Check(tokens.Take(), "cancelled"); });
    actors.Start("giver", [&] { tokens.Give(); });
    actors.Join();
    run.Check(tokens.kept.Read() == 0, "the token is there still");
  });
}

// One token, two takers, of whom one is cancelled: if he does not get it the other does, though the
// notification may have come to the cancelled one's place in the line.
TEST_P(CondVarModelTest, ACancelledWaitDoesNotKeepANotification) {
  BothEnds ends;
  Explore(kPreemptions, [&](ModelRun& run) {
    Tokens tokens;
    Actors<3> actors(run);
    bool cancelled_took = false;
    actors.Start("cancelled", [&] {
      cancelled_took = tokens.Take();
      if (cancelled_took) tokens.Give();  // there is one for each
    });
    actors.Start("taker", [&] { run.Check(tokens.Take(), "cancelled"); });
    actors.Start("giver", [&] { tokens.Give(); });
    actors.StartCanceller();
    actors.Join();
    run.Check(tokens.kept.Read() == 0, "the token is there still");
    ends.Saw(cancelled_took);
  });
}

TEST_P(CondVarModelTest, ALimitMeetsANotification) {
  BothEnds ends;
  Explore(kPreemptions, [&](ModelRun& run) {
    Tokens tokens;
    ModelTime time;
    Actors<2> actors(run);
    bool took = false;
    actors.Start("taker", [&] { took = tokens.TakeUntil(10); });
    actors.Start("giver", [&] { tokens.Give(); });
    run.Thread("time", [&] { time.Pass(20); });
    actors.Join();
    run.Check(tokens.kept.Read() == (took ? 0 : 1), "the token is not in one place");
    ends.Saw(took);
  });
}

TEST_P(CondVarModelTest, NotifyAllWakesBoth) {
  Explore(kPreemptions, [](ModelRun& run) {
    Mutex mu;
    CondVar cv;
    ModelPlain<bool> go{false};
    Actors<3> actors(run);
    for (int i = 0; i < 2; ++i) {
      actors.Start("waiter " + std::to_string(i), [&] {
        mu.lock();
        while (!go.Read()) cv.Wait(mu);
        mu.unlock();
      });
    }
    actors.Start("notifier", [&] {
      mu.lock();
      go.Write(true);
      mu.unlock();
      cv.NotifyAll();
    });
    actors.Join();
  });
}

}  // namespace
}  // namespace csp::internal
