// csp/sync/once under every interleaving: one does it and all see what was done, a throw makes room
// for the next, and whoever returns may destroy it.
#include <memory>
#include <optional>
#include <stdexcept>

#include "csp/sync/once.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

using OnceModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(OnceModelTest);

TEST_P(OnceModelTest, OneDoesItAllSeeIt) {
  Explore(2, [](ModelRun& run) {
    Once once;
    ModelPlain<int> times{0};
    Actors<3> actors(run);
    for (int i = 0; i < 3; ++i) {
      actors.Start("caller " + std::to_string(i), [&] {
        once.Call([&] { times.Write(times.Read() + 1); });
        run.Check(times.Read() == 1, "not once");
      });
    }
    actors.Join();
    run.Check(once.done(), "it has been done");
  });
}

// The first to try throws; the other does it, whether it waited or came afterwards, or before.
TEST_P(OnceModelTest, AThrowLetsTheNextOneTry) {
  Explore(-1, [](ModelRun& run) {
    Once once;
    ModelPlain<int> tries{0};
    std::array<bool, 2> threw{};
    Actors<2> actors(run);
    for (std::size_t i = 0; i < 2; ++i) {
      actors.Start("caller " + std::to_string(i), [&, i] {
        try {
          once.Call([&] {
            tries.Write(tries.Read() + 1);
            if (tries.Read() == 1) throw std::runtime_error("model");
          });
        } catch (const std::runtime_error&) {
          threw[i] = true;
        }
      });
    }
    actors.Join();
    run.Check(threw[0] != threw[1], "not one of them threw");
    run.Check(once.done() && tries.Read() == 2, "not done by the second");
  });
}

// While it is being done.
TEST_P(OnceModelTest, ACancelledCallerWaitsAllTheSame) {
  Explore(2, [](ModelRun& run) {
    Once once;
    ModelPlain<bool> made{false};
    Actors<2> actors(run);
    for (int i = 0; i < 2; ++i) {
      actors.Start("caller " + std::to_string(i), [&] {
        once.Call([&] { made.Write(true); });
        run.Check(made.Read(), "it is not done");
      });
    }
    actors.StartCanceller();
    actors.Join();
  });
}

// Who waited, while the one who did it is on his way out.
TEST_P(OnceModelTest, WhoReturnsMayDestroyIt) {
  Explore(-1, [](ModelRun& run) {
    auto once = std::make_unique<Once>();
    Atomic<bool> begun{false};
    Actors<2> actors(run);
    actors.Start("runner", [&, raw = once.get()] { raw->Call([&] { begun.store(true); }); });
    actors.Start("waiter", [&] {
      while (!begun.load()) CpuRelax();
      once->Call([&] { run.Fail("it has been done"); });
      once.reset();
    });
    actors.Join();
  });
}

}  // namespace
}  // namespace csp::internal
