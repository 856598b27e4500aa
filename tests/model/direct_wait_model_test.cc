// csp/select/direct_wait under every interleaving: a wait that one object decides, and cancellers.
// Either the token comes or the wait is cancelled, never both nor neither, and a canceller does not
// touch the frame of a wait that has been left.
#include <array>
#include <mutex>
#include <string>

#include "csp/base/panic.h"
#include "csp/base/spinlock.h"
#include "csp/select/direct_wait.h"
#include "csp/select/wait_list.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

constexpr ParkReason kReason{"Wait", "model"};

// An object in its simplest form: tokens, and who waits for one.
class Tokens {
 public:
  void Give() {
    Waiter* waiter = nullptr;
    {
      const std::lock_guard lock(mu_);
      waiter = waiters_.PopClaimed();
      if (waiter == nullptr) kept_.Write(kept_.Read() + 1);
    }
    if (waiter == nullptr) return;
    waiter->ok = true;
    waiter->Wake();
  }

  // Waits for a token. Throws Cancelled.
  void Take() {
    Wait wait(*this);
    for (;;) {
      {
        const std::lock_guard lock(mu_);
        if (kept_.Read() > 0) {
          kept_.Write(kept_.Read() - 1);
          return;
        }
        if (Waiter* waiter = wait.Begin()) waiters_.PushBack(*waiter);
      }
      if (wait.Await()) return;
    }
  }

  // After the Join.
  int kept() const { return kept_.Read(); }
  bool empty() const { return waiters_.empty(); }

 private:
  class Wait final : public DirectWait {
   public:
    explicit Wait(Tokens& object)
        : DirectWait(EnterBlocking(), kReason, &object), object_(object) {}

   private:
    bool Withdraw(Waiter& waiter) noexcept override {
      frame_.Read();
      const std::lock_guard lock(object_.mu_);
      const bool linked = waiter.linked();
      object_.waiters_.Remove(waiter);
      return linked;
    }

    Tokens& object_;
    // Its end is a write: who reads it later than that, or without having been waited for, races.
    ModelPlain<int> frame_{0};
  };

  SpinLock mu_{LockRank::kObject};
  WaitList waiters_;
  ModelPlain<int> kept_{0};
};

class DirectWaitModelTest : public ModelTest {
 protected:
  // False: cancelled.
  static bool TakeOne(Tokens& tokens) {
    try {
      tokens.Take();
      return true;
    } catch (const Cancelled&) {
      return false;
    }
  }
};

TEST_P(DirectWaitModelTest, TheTokenIsTakenOrTheWaitIsCancelled) {
  BothEnds ends;
  Explore(-1, [&](ModelRun& run) {
    ModelParker waiter(run);
    Tokens tokens;
    bool took = false;
    run.Thread("waiter", [&] {
      waiter.Enter();
      took = TakeOne(tokens);
    });
    run.Thread("giver", [&] { tokens.Give(); });
    run.Thread("canceller", [&] { CancelParker(waiter, ModelParker::kTask); });
    run.Join();
    run.Check(tokens.kept() == (took ? 0 : 1), "the token is not in one place");
    run.Check(tokens.empty(), "a waiter is linked still");
    waiter.CheckQuiet();
    ends.Saw(took);
  });
}

// With nobody to give a token, a canceller alone ends the wait, however it falls in with it; and so
// it does for the second of two waits.
TEST_P(DirectWaitModelTest, ACancelIsNeverMissed) {
  Explore(-1, [](ModelRun& run) {
    ModelParker waiter(run);
    Tokens tokens;
    tokens.Give();
    run.Thread("waiter", [&] {
      waiter.Enter();
      while (TakeOne(tokens)) {
      }
    });
    run.Thread("canceller", [&] { CancelParker(waiter, ModelParker::kTask); });
    run.Join();
    run.Check(tokens.empty(), "a waiter is linked still");
    waiter.CheckQuiet();
  });
}

TEST_P(DirectWaitModelTest, AShieldedWaitIsNotCancelled) {
  Explore(-1, [](ModelRun& run) {
    ModelParker waiter(run);
    Tokens tokens;
    run.Thread("waiter", [&] {
      waiter.Enter();
      {
        const Shield shield;
        run.Check(TakeOne(tokens), "cancelled under a shield");
      }
    });
    run.Thread("giver", [&] { tokens.Give(); });
    run.Thread("canceller", [&] { CancelParker(waiter, ModelParker::kTask); });
    run.Join();
    waiter.CheckQuiet();
  });
}

// One barrier for both.
TEST_P(DirectWaitModelTest, ASweepCancelsTwo) {
  Explore(2, [](ModelRun& run) {
    std::array<ModelParker, 2> waiters{ModelParker(run), ModelParker(run)};
    std::array<Tokens, 2> tokens;
    for (int i = 0; i < 2; ++i) {
      run.Thread("waiter " + std::to_string(i), [&, i] {
        waiters[i].Enter();
        run.Check(!TakeOne(tokens[i]), "there was a token");
      });
    }
    run.Thread("canceller", [&] {
      CancelSweep sweep;
      for (ModelParker& waiter : waiters) sweep.Cancel(waiter, ModelParker::kTask);
    });
    run.Join();
    for (ModelParker& waiter : waiters) waiter.CheckQuiet();
  });
}

CSP_INSTANTIATE_MODEL(DirectWaitModelTest);

}  // namespace
}  // namespace csp::internal
