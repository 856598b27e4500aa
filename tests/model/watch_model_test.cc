// Watch under every interleaving: a reader gets newer and newer values, the last one always, and is
// not left waiting; a value is not destroyed while it is copied.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/watch.h"
#include "csp/select/blocking.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"
#include "tests/model/tracked_value.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelRun;

using Channel = Watch<TrackedValue>;

class WatchModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  // The participants of one execution.
  struct Scene {
    explicit Scene(ModelRun& the_run) : run(the_run), channel(MakeWatch(TrackedValue(0))) {}

    // Adds a thread that may wait, with a handle of its own.
    template <class F>
    void Thread(std::string name, F f) {
      const std::size_t i = parkers.size();
      parkers.push_back(std::make_unique<ModelParker>(run));
      run.Thread(std::move(name), [this, i, f, own = channel]() mutable {
        parkers[i]->Enter();
        f(std::move(own));
      });
    }

    void Join() {
      channel = {};  // whoever ends last destroys the channel
      run.Join();
      for (auto& parker : parkers) parker->CheckQuiet();
    }

    ModelRun& run;
    Channel channel;
    std::vector<std::unique_ptr<ModelParker>> parkers;
  };

  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam(), .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore([&](ModelRun& run) {
      Scene scene(run);
      body(scene);
    });
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
};

TEST_P(WatchModelTest, TheLastValueIsSeen) {
  Explore(2, [](Scene& scene) {
    scene.Thread("setter", [](Channel channel) {
      for (int i = 1; i <= 2; ++i) channel.Set(TrackedValue(i));
      channel.Close();
    });
    scene.Thread("reader", [&](Channel channel) {
      WatchReader<TrackedValue> reader = channel.Subscribe();
      channel = {};
      int last = -1;
      while (std::optional<TrackedValue> now = reader.Next()) {
        scene.run.Check(now->number() > last, "a value that is no newer");
        last = now->number();
      }
      scene.run.Check(last == 2, "the last value is lost");
    });
    scene.Join();
  });
}

// Two copy the value while it is replaced.
TEST_P(WatchModelTest, TwoWhoGet) {
  Explore(2, [](Scene& scene) {
    scene.Thread("setter", [](Channel channel) { channel.Set(TrackedValue(1)); });
    for (int i = 0; i < 2; ++i) {
      scene.Thread("getter " + std::to_string(i), [&](Channel channel) {
        const int number = channel.Get().number();
        scene.run.Check(number == 0 || number == 1, "no value that was set");
      });
    }
    scene.Join();
  });
}

TEST_P(WatchModelTest, TwoSetters) {
  Explore(2, [](Scene& scene) {
    for (int i = 1; i <= 2; ++i) {
      scene.Thread("setter " + std::to_string(i),
                   [i](Channel channel) { channel.Set(TrackedValue(i)); });
    }
    scene.Thread("reader", [&](Channel channel) {
      WatchReader<TrackedValue> reader = channel.Subscribe();
      while (reader.Next()->number() == 0) {
      }
      scene.run.Check(reader.Get().number() != 0, "an older value");
    });
    scene.Join();
  });
}

TEST_P(WatchModelTest, CommitBeatsCancel) {
  std::array<int, 2> outcomes{};
  Explore(2, [&](Scene& scene) {
    bool cancelled = false;
    scene.Thread("setter", [](Channel channel) { channel.Set(TrackedValue(1)); });
    scene.Thread("reader", [&](Channel channel) {
      WatchReader<TrackedValue> reader = channel.Subscribe();
      int last = reader.Get().number();
      try {
        if (last == 0) last = reader.Next()->number();
      } catch (const Cancelled&) {
        cancelled = true;
        const Shield shield;  // what was not seen is there still
        last = reader.Next()->number();
      }
      scene.run.Check(last == 1, "the change is lost");
    });
    scene.Thread("canceller",
                 [&](Channel) { CancelParker(*scene.parkers[1], ModelParker::kTask); });
    scene.Join();
    ++outcomes[cancelled ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

INSTANTIATE_TEST_SUITE_P(Memory, WatchModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
