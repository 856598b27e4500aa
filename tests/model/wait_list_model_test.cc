// csp/select/wait_list and waiter under every interleaving: a token that is handed out reaches one
// waiter or stays, a waiter gets one, and who closes wakes all who wait and touches nobody else.
#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "csp/base/spinlock.h"
#include "csp/select/wait_list.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

constexpr ParkReason kReason{"Wait", "model"};

// An object in its simplest form: tokens, and who waits for one.
class Tokens {
 public:
  // Gives one token to a waiter, or keeps it.
  void Give() {
    Waiter* waiter = nullptr;
    {
      const std::lock_guard lock(mu_);
      waiter = waiters_.PopClaimed();
      if (waiter != nullptr) {
        waiter->ok = true;
      } else {
        kept_.Write(kept_.Read() + 1);
      }
    }
    if (waiter != nullptr) waiter->Wake();
  }

  // True: `waiter` waits. False: there is a token (which is not taken), or it is closed.
  bool Arm(Waiter& waiter) {
    const std::lock_guard lock(mu_);
    if (closed_ || kept_.Read() > 0) return false;
    waiters_.PushBack(waiter);
    return true;
  }
  enum class Took { kToken, kClosed, kNothing };
  Took Take() {
    const std::lock_guard lock(mu_);
    if (kept_.Read() > 0) {
      kept_.Write(kept_.Read() - 1);
      return Took::kToken;
    }
    return closed_ ? Took::kClosed : Took::kNothing;
  }
  void Disarm(Waiter& waiter) {
    const std::lock_guard lock(mu_);
    waiters_.Remove(waiter);
  }

  void Close() {
    WakeList wake;
    {
      const std::lock_guard lock(mu_);
      closed_ = true;
      wake.Claim(waiters_, false);
    }
    wake.WakeAll();
  }

  // After the Join.
  int kept() const { return kept_.Read(); }
  bool empty() const { return waiters_.empty(); }

 private:
  SpinLock mu_{LockRank::kObject};
  WaitList waiters_;
  bool closed_ = false;
  ModelPlain<int> kept_{0};
};

// A wait for a token of any of `objects`. Returns whose it got, or -1: one was closed. The waiters
// are on the heap, so that AddressSanitizer knows who touches them too late.
template <std::size_t n>
int AwaitToken(ModelParker& self, std::array<Tokens, n>& objects) {
  for (;;) {
    for (std::size_t i = 0; i < n; ++i) {
      const Tokens::Took took = objects[i].Take();
      if (took == Tokens::Took::kToken) return static_cast<int>(i);
      if (took == Tokens::Took::kClosed) return -1;
    }
    Attempt attempt(&self);
    attempt.Begin(false);
    std::array<std::unique_ptr<Waiter>, n> waiters;
    bool ready = false;
    for (std::size_t i = 0; i < n && !ready; ++i) {
      waiters[i] = std::make_unique<Waiter>();
      waiters[i]->Bind(attempt, static_cast<int>(i));
      ready = !objects[i].Arm(*waiters[i]);
    }
    const bool aborted = ready && attempt.Abort();
    const int winner = aborted ? -1 : attempt.Await(kReason, nullptr);
    for (std::size_t i = 0; i < n; ++i) {
      if (waiters[i] != nullptr && static_cast<int>(i) != winner) objects[i].Disarm(*waiters[i]);
    }
    if (winner >= 0) return waiters[winner]->ok ? winner : -1;
  }
}

using WaitListModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(WaitListModelTest);

// Two objects give a token each to one who wants any: it takes one, the other stays.
TEST_P(WaitListModelTest, AWaiterOnTwoListsTakesOneToken) {
  std::array<int, 2> got{};
  Explore(4, [&](ModelRun& run) {
    ModelParker parker(run);
    std::array<Tokens, 2> objects;
    int winner = -1;
    run.Thread("waiter", [&] {
      parker.Enter();
      winner = AwaitToken(parker, objects);
    });
    for (int i = 0; i < 2; ++i) {
      run.Thread("giver " + std::to_string(i), [&objects, i] { objects[i].Give(); });
    }
    run.Join();
    run.Check(objects[winner].kept() == 0, "the token taken is there still");
    run.Check(objects[1 - winner].kept() == 1, "the other token was lost");
    run.Check(objects[0].empty() && objects[1].empty(), "a waiter is linked still");
    parker.CheckQuiet();
    ++got[winner];
  });
  EXPECT_GT(got[0], 0);
  EXPECT_GT(got[1], 0);
}

// Two who wait for any of two objects, and a token in each: both get one. The second token must
// pass over a waiter that the first has gone to and that is linked still.
TEST_P(WaitListModelTest, TwoTokensReachTwoWaiters) {
  Explore(GetParam() == Model::Memory::kSequential ? 2 : 1, [](ModelRun& run) {
    ModelParker first(run);
    ModelParker second(run);
    std::array<Tokens, 2> objects;
    for (ModelParker* parker : {&first, &second}) {
      run.Thread([&objects, parker] {
        parker->Enter();
        AwaitToken(*parker, objects);
      });
    }
    run.Thread("giver", [&] {
      objects[0].Give();
      objects[1].Give();
    });
    run.Join();
    run.Check(objects[0].kept() == 0 && objects[1].kept() == 0, "a token was left");
    first.CheckQuiet();
    second.CheckQuiet();
  });
}

// Close wakes each who waits, once; a token given before reaches one or stays.
TEST_P(WaitListModelTest, CloseWakesAll) {
  Explore(GetParam() == Model::Memory::kSequential ? 3 : 2, [](ModelRun& run) {
    ModelParker first(run);
    ModelParker second(run);
    std::array<Tokens, 1> object;
    std::array<int, 2> got{};
    const int given = run.Choose(2);
    run.Thread("first", [&] {
      first.Enter();
      got[0] = AwaitToken(first, object);
    });
    run.Thread("second", [&] {
      second.Enter();
      Attempt attempt(&second);
      attempt.Begin(false);
      Waiter waiter;
      waiter.Bind(attempt, 0);
      got[1] = -1;
      const bool armed = object[0].Arm(waiter);
      if (attempt.Abort()) {  // has changed its mind
        if (armed) object[0].Disarm(waiter);
      } else {
        attempt.Await(kReason, nullptr);
        if (waiter.ok) got[1] = 0;
      }
    });
    run.Thread("closer", [&] {
      if (given == 1) object[0].Give();
      object[0].Close();
    });
    run.Join();
    const int taken = (got[0] == 0 ? 1 : 0) + (got[1] == 0 ? 1 : 0);
    run.Check(taken + object[0].kept() == given, "the token is not in one place");
    run.Check(object[0].empty(), "a waiter is linked still");
    first.CheckQuiet();
    second.CheckQuiet();
  });
}

}  // namespace
}  // namespace csp::internal
