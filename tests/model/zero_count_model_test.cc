// csp/sync's WaitGroup and Latch under every interleaving: a wait is over once the count has been
// zero, whatever is added or cancelled meanwhile, and whoever has waited may destroy them.
#include <memory>

#include "csp/sync/latch.h"
#include "csp/sync/wait_group.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

using ZeroCountModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(ZeroCountModelTest);

TEST_P(ZeroCountModelTest, AWaitSeesWhatAllHaveDone) {
  Explore(2, [](ModelRun& run) {
    WaitGroup group(2);
    std::array<ModelPlain<int>, 2> done;
    Actors<1> actors(run);
    actors.Start("waiter", [&] {
      group.Wait();
      run.Check(done[0].Read() + done[1].Read() == 2, "not all is done");
    });
    for (std::size_t i = 0; i < 2; ++i) {
      run.Thread("worker " + std::to_string(i), [&, i] {
        done[i].Write(1);
        group.Done();
      });
    }
    actors.Join();
  });
}

// Zero twice, and more in between: who waits goes on at the first or at the second.
TEST_P(ZeroCountModelTest, MoreMayBeAddedAtOnce) {
  Explore(3, [](ModelRun& run) {
    WaitGroup group(1);
    Actors<1> actors(run);
    actors.Start("waiter", [&] { group.Wait(); });
    run.Thread("worker", [&] {
      group.Done();
      group.Add(1);
      group.Done();
    });
    actors.Join();
    run.Check(group.TryWait(), "the count is not zero");
  });
}

TEST_P(ZeroCountModelTest, AWaitEndsOrIsCancelled) {
  BothEnds ended;
  Explore(3, [&](ModelRun& run) {
    WaitGroup group(1);
    Actors<1> actors(run);
    bool got = false;
    actors.Start("waiter", [&] { got = NotCancelled([&] { group.Wait(); }); });
    run.Thread("worker", [&] { group.Done(); });
    actors.StartCanceller();
    actors.Join();
    run.Check(group.TryWait(), "the count is not zero");
    ended.Saw(got);
  });
}

TEST_P(ZeroCountModelTest, ALimitMeetsTheLastDone) {
  BothEnds ended;
  Explore(3, [&](ModelRun& run) {
    WaitGroup group(1);
    ModelTime time;
    Actors<1> actors(run);
    bool got = false;
    actors.Start("waiter", [&] { got = group.WaitUntil(absl::FromUnixNanos(10)); });
    run.Thread("worker", [&] { group.Done(); });
    run.Thread("time", [&] { time.Pass(20); });
    actors.Join();
    ended.Saw(got);
  });
}

TEST_P(ZeroCountModelTest, ALatchLetsBothPass) {
  Explore(3, [](ModelRun& run) {
    Latch latch(2);
    std::array<ModelPlain<int>, 2> done;
    Actors<2> actors(run);
    for (std::size_t i = 0; i < 2; ++i) {
      actors.Start("party " + std::to_string(i), [&, i] {
        done[i].Write(1);
        latch.ArriveAndWait();
        run.Check(done[1 - i].Read() == 1, "the other has not arrived");
      });
    }
    actors.Join();
  });
}

TEST_P(ZeroCountModelTest, WhoHasWaitedMayDestroyIt) {
  Explore(-1, [](ModelRun& run) {
    auto latch = std::make_unique<Latch>(1);
    Actors<1> actors(run);
    run.Thread("worker", [raw = latch.get()] { raw->CountDown(); });
    actors.Start("waiter", [&] {
      latch->Wait();
      latch.reset();
    });
    actors.Join();
  });
}

}  // namespace
}  // namespace csp::internal
