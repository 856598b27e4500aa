// csp/select/attempt under every interleaving: of those who would end a wait exactly one does, its
// wake is consumed once, and whoever comes late does not touch the next wait.
#include <array>
#include <string>

#include "csp/select/attempt.h"
#include "csp/select/blocking.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

constexpr ParkReason kReason{"Wait", "model"};

// Where a waiter publishes that it can be claimed, as an object's list under its lock would; and
// the value that the claimer hands over.
struct Place {
  Atomic<std::uint64_t> pending{0};
  ModelPlain<int> slot{0};

  // The claimer's whole work. False: too late, or nobody is there.
  bool Decide(Parker& parker, int index) {
    const std::uint64_t word = pending.load(std::memory_order_acquire);
    if (word == 0 || !Attempt::Claim(&parker, word, index)) return false;
    slot.Write(index);
    parker.Unpark();
    return true;
  }
};

class AttemptModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  template <class Body>
  static Model::Result Explore(Body body) {
    const Model::Result result = Model({.memory = GetParam()}).Explore(body);
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
    return result;
  }
};

// Two who would decide, one who waits; if neither came in time, it gives up.
TEST_P(AttemptModelTest, ExactlyOneWins) {
  std::array<int, 3> wins{};
  Explore([&](ModelRun& run) {
    ModelParker waiter(run);
    std::array<Place, 2> places;
    std::array<bool, 2> decided{};
    int outcome = -1;
    run.Thread("waiter", [&] {
      waiter.Enter();
      Attempt attempt(&waiter);
      run.Check(attempt.Begin(false), "nobody has cancelled");
      for (Place& place : places) {
        place.pending.store(attempt.pending_word(), std::memory_order_release);
      }
      if (attempt.Abort()) {
        outcome = 2;
        return;
      }
      outcome = attempt.Await(kReason, nullptr);
      run.Check(places[outcome].slot.Read() == outcome, "woken before the value came");
    });
    for (int i = 0; i < 2; ++i) {
      run.Thread("claimer " + std::to_string(i),
                 [&, i] { decided[i] = places[i].Decide(waiter, i); });
    }
    run.Join();
    run.Check(decided[0] + decided[1] + (outcome == 2) == 1, "not exactly one winner");
    run.Check(outcome == 2 || decided[outcome], "the waiter has another winner");
    waiter.CheckQuiet();
    ++wins[outcome];
  });
  for (const int count : wins) EXPECT_GT(count, 0);
}

// A claimer that is late by one wait fails, though the parker waits again.
TEST_P(AttemptModelTest, AStaleClaimDoesNotTouchTheNextWait) {
  bool stale_met_next = false;
  Explore([&](ModelRun& run) {
    ModelParker waiter(run);
    std::array<Place, 2> places;
    std::array<bool, 2> decided{};
    run.Thread("waiter", [&] {
      waiter.Enter();
      {
        Attempt first(&waiter);
        first.Begin(false);
        places[0].pending.store(first.pending_word(), std::memory_order_release);
        if (!first.Abort()) {
          run.Check(first.Await(kReason, nullptr) == 0, "the first wait's winner");
        }
      }
      Attempt second(&waiter);
      second.Begin(false);
      places[1].pending.store(second.pending_word(), std::memory_order_release);
      if (!second.Abort()) {
        run.Check(second.Await(kReason, nullptr) == 1, "the second wait's winner");
        stale_met_next |= !decided[0];
      }
    });
    for (int i = 0; i < 2; ++i) {
      run.Thread("claimer " + std::to_string(i),
                 [&, i] { decided[i] = places[i].Decide(waiter, i); });
    }
    run.Join();
    waiter.CheckQuiet();
  });
  EXPECT_TRUE(stale_met_next);
}

// A canceller, an event and the waiter: the wait ends in any case, by one of the first two; and a
// cancelled waiter does not wait again.
TEST_P(AttemptModelTest, ACancelledWaitEnds) {
  bool before = false;
  bool in_wait = false;
  bool lost = false;
  Explore([&](ModelRun& run) {
    ModelParker waiter(run);
    Place place;
    bool decided = false;
    run.Thread("waiter", [&] {
      waiter.Enter();
      Attempt attempt(&waiter);
      if (!attempt.Begin(false)) {
        before = true;
        return;
      }
      place.pending.store(attempt.pending_word(), std::memory_order_release);
      const int outcome = attempt.Await(kReason, nullptr);
      (outcome == Attempt::kCancelled ? in_wait : lost) = true;
      run.Check(outcome == Attempt::kCancelled || outcome == 0, "who was that?");
    });
    run.Thread("claimer", [&] { decided = place.Decide(waiter, 0); });
    run.Thread("canceller", [&] {
      run.Check(CancelParker(waiter, ModelParker::kTask), "was not cancelled before");
      run.Check(!CancelParker(waiter, ModelParker::kTask), "was cancelled before");
    });
    run.Join();
    waiter.CheckQuiet();
  });
  EXPECT_TRUE(before && in_wait && lost);
}

// Two waits in a row: if the canceller comes too late for the first, the second sees the flag.
TEST_P(AttemptModelTest, ACancelIsMetByOneOfTwoWaits) {
  Explore([&](ModelRun& run) {
    ModelParker waiter(run);
    Place place;
    bool told = false;
    run.Thread("waiter", [&] {
      waiter.Enter();
      for (int i = 0; i < 2 && !told; ++i) {
        Attempt attempt(&waiter);
        if (!attempt.Begin(false)) {
          told = true;
          break;
        }
        place.pending.store(attempt.pending_word(), std::memory_order_release);
        told = attempt.Await(kReason, nullptr) == Attempt::kCancelled;
      }
      run.Check(told, "both waits ended otherwise, though only one event has happened");
    });
    run.Thread("claimer", [&] { place.Decide(waiter, 0); });
    run.Thread("canceller", [&] { CancelParker(waiter, ModelParker::kTask); });
    run.Join();
    waiter.CheckQuiet();
  });
}

// Cancellers leave a shielded wait alone; the next one that is not shielded is told.
TEST_P(AttemptModelTest, AShieldedWaitIsNotCancelled) {
  Explore([&](ModelRun& run) {
    ModelParker waiter(run);
    Place place;
    run.Thread("waiter", [&] {
      waiter.Enter();
      Attempt attempt(&waiter);
      run.Check(attempt.Begin(true), "shielded");
      place.pending.store(attempt.pending_word(), std::memory_order_release);
      run.Check(attempt.Await(kReason, nullptr) == 0, "shielded");
    });
    run.Thread("claimer", [&] {
      while (place.pending.load(std::memory_order_acquire) == 0) CpuRelax();
      run.Check(place.Decide(waiter, 0), "somebody else has decided a shielded wait");
    });
    run.Thread("canceller", [&] { CancelParker(waiter, ModelParker::kTask); });
    run.Join();
    waiter.CheckQuiet();
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, AttemptModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
