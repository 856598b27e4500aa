// csp/sync/barrier under every interleaving: nobody goes on before all have arrived, an arrival that
// is cancelled has not been one, and whoever has passed may destroy it.
#include <array>
#include <cstddef>
#include <memory>

#include "csp/sync/barrier.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

using BarrierModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(BarrierModelTest);

TEST_P(BarrierModelTest, BothArriveBeforeEitherGoesOn) {
  Explore(-1, [](ModelRun& run) {
    Barrier barrier(2);
    std::array<ModelPlain<int>, 2> done;
    std::array<bool, 2> last{};
    Actors<2> actors(run);
    for (std::size_t i = 0; i < 2; ++i) {
      actors.Start("party " + std::to_string(i), [&, i] {
        done[i].Write(1);
        last[i] = barrier.ArriveAndWait();
        run.Check(done[1 - i].Read() == 1, "the other has not arrived");
      });
    }
    actors.Join();
    run.Check(last[0] != last[1], "not one of them was the last");
    run.Check(barrier.TryWait(0) && barrier.Arrive() == 1, "another phase");
  });
}

TEST_P(BarrierModelTest, AgainAndAgain) {
  Explore(2, [](ModelRun& run) {
    Barrier barrier(2);
    std::array<int, 2> lasts{};
    Actors<2> actors(run);
    for (std::size_t i = 0; i < 2; ++i) {
      actors.Start("party " + std::to_string(i), [&, i] {
        for (int phase = 0; phase < 2; ++phase) lasts[i] += barrier.ArriveAndWait() ? 1 : 0;
      });
    }
    actors.Join();
    run.Check(lasts[0] + lasts[1] == 2, "one is the last in each phase");
  });
}

TEST_P(BarrierModelTest, TheLastOfThreeWakesBoth) {
  Explore(2, [](ModelRun& run) {
    Barrier barrier(3);
    Actors<2> actors(run);
    for (int i = 0; i < 2; ++i) {
      actors.Start("party " + std::to_string(i), [&] { (void)barrier.ArriveAndWait(); });
    }
    run.Thread("third", [&] { (void)barrier.Arrive(); });
    actors.Join();
    run.Check(barrier.TryWait(0), "the phase has not ended");
  });
}

// It has passed, or one more is needed.
TEST_P(BarrierModelTest, ACancelledArrivalIsTakenBack) {
  BothEnds passed;
  Explore(3, [&](ModelRun& run) {
    Barrier barrier(2);
    Actors<1> actors(run);
    bool arrived = false;
    actors.Start("party", [&] { arrived = NotCancelled([&] { (void)barrier.ArriveAndWait(); }); });
    run.Thread("other", [&] { (void)barrier.Arrive(); });
    actors.StartCanceller();
    actors.Join();
    run.Check(barrier.TryWait(0) == arrived, "it counts, or not, against its word");
    if (!arrived) run.Check(barrier.Arrive() == 0 && barrier.TryWait(0), "one is not enough");
    passed.Saw(arrived);
  });
}

TEST_P(BarrierModelTest, AWaitForAPhaseEndsOrIsCancelled) {
  BothEnds passed;
  Explore(3, [&](ModelRun& run) {
    Barrier barrier(2);
    const Barrier::Phase phase = barrier.Arrive();
    Actors<1> actors(run);
    bool ended = false;
    actors.Start("waiter", [&] { ended = NotCancelled([&] { barrier.Wait(phase); }); });
    run.Thread("last", [&] { (void)barrier.Arrive(); });
    actors.StartCanceller();
    actors.Join();
    run.Check(barrier.TryWait(phase), "the phase has not ended");
    passed.Saw(ended);
  });
}

TEST_P(BarrierModelTest, WhoHasPassedMayDestroyIt) {
  for (const bool arrives : {false, true}) {
    Explore(-1, [arrives](ModelRun& run) {
      auto barrier = std::make_unique<Barrier>(2);
      Barrier* raw = barrier.get();
      if (!arrives) (void)barrier->Arrive();
      Actors<1> actors(run);
      run.Thread("other", [raw] { (void)raw->Arrive(); });
      actors.Start("party", [&] {
        if (arrives) {
          (void)barrier->ArriveAndWait();
        } else {
          barrier->Wait(0);
        }
        barrier.reset();
      });
      actors.Join();
    });
  }
}

}  // namespace
}  // namespace csp::internal
