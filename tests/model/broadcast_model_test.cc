// Broadcast under every interleaving: each reader's accounts balance, a value is not destroyed while
// it is copied, nobody is left waiting, and nobody touches a channel that is gone.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/broadcast.h"
#include "csp/select/blocking.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"
#include "tests/model/tracked_value.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelRun;

using Channel = Broadcast<TrackedValue>;
using Reader = BroadcastReader<TrackedValue>;

struct Parameters {
  Model::Memory memory;
  std::size_t capacity;
};

class BroadcastModelTest : public ::testing::TestWithParam<Parameters> {
 protected:
  // The participants of one execution.
  struct Scene {
    Scene(ModelRun& the_run, std::size_t capacity)
        : run(the_run), channel(MakeBroadcast<TrackedValue>(capacity)) {}

    // Adds a thread that may wait, with handles of its own.
    template <class F>
    void Thread(std::string name, F f) {
      const std::size_t i = parkers.size();
      parkers.push_back(std::make_unique<ModelParker>(run));
      run.Thread(std::move(name),
                 [this, i, f, own = channel, reader = channel.Subscribe()]() mutable {
                   parkers[i]->Enter();
                   f(std::move(own), std::move(reader));
                 });
    }

    void Join() {
      channel = {};  // whoever ends last destroys the channel
      run.Join();
      for (auto& parker : parkers) parker->CheckQuiet();
    }

    // Reads until the channel is closed; how many values there have been.
    std::uint64_t ReadAll(Reader reader) {
      std::uint64_t next = 0;
      while (std::optional<Delivery<TrackedValue>> got = reader.Recv()) {
        const auto number = static_cast<std::uint64_t>(got->value.number());
        run.Check(number == next + got->missed, "the accounts do not balance");
        next = number + 1;
      }
      return next;
    }

    ModelRun& run;
    Channel channel;
    std::vector<std::unique_ptr<ModelParker>> parkers;
  };

  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam().memory, .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore([&](ModelRun& run) {
      Scene scene(run, GetParam().capacity);
      body(scene);
    });
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
};

TEST_P(BroadcastModelTest, TheAccountsBalance) {
  std::array<bool, 2> missed{};
  Explore(2, [&](Scene& scene) {
    scene.Thread("sender", [](Channel channel, Reader reader) {
      reader = {};
      for (int i = 0; i < 2; ++i) channel.Send(TrackedValue(i));
      channel.Close();
    });
    bool some = false;
    scene.Thread("reader", [&](Channel channel, Reader reader) {
      channel = {};
      Reader again = reader;
      std::optional<Delivery<TrackedValue>> first = again.Recv();
      some = first.has_value() && first->missed > 0;
      scene.run.Check(scene.ReadAll(std::move(reader)) == 2, "a value is lost");
    });
    scene.Join();
    missed[some ? 1 : 0] = true;
  });
  EXPECT_TRUE(missed[0]);
  EXPECT_EQ(missed[1], GetParam().capacity == 1);
}

// Two copy the same value while it is overwritten.
TEST_P(BroadcastModelTest, TwoReaders) {
  Explore(GetParam().memory == Model::Memory::kSequential ? 2 : 1, [](Scene& scene) {
    scene.Thread("sender", [](Channel channel, Reader) {
      for (int i = 0; i < 2; ++i) channel.Send(TrackedValue(i));
    });
    for (int i = 0; i < 2; ++i) {
      scene.Thread("reader " + std::to_string(i), [&](Channel, Reader reader) {
        const std::optional<Delivery<TrackedValue>> got = reader.Recv();
        scene.run.Check(got->value.number() == static_cast<int>(got->missed), "another value");
      });
    }
    scene.Join();
  });
}

// Two overwrite each other's values, with the same spare cells.
TEST_P(BroadcastModelTest, TwoSenders) {
  Explore(2, [](Scene& scene) {
    for (int i = 0; i < 2; ++i) {
      scene.Thread("sender " + std::to_string(i),
                   [i](Channel channel, Reader) { channel.Send(TrackedValue(i)); });
    }
    scene.Thread("reader", [&](Channel, Reader reader) {
      std::uint64_t count = 0;
      while (count < 2) count += reader.Recv()->missed + 1;
      scene.run.Check(count == 2, "more than was sent");
      std::optional<Delivery<TrackedValue>> out;
      scene.run.Check(!reader.TryRecv(out), "more than was sent");
    });
    scene.Join();
  });
}

TEST_P(BroadcastModelTest, CloseTellsWhoWaits) {
  Explore(-1, [](Scene& scene) {
    scene.Thread("closer", [](Channel channel, Reader) { channel.Close(); });
    scene.Thread("reader", [&](Channel, Reader reader) {
      scene.run.Check(!reader.Recv().has_value(), "there was no value");
    });
    scene.Join();
  });
}

// A sender that comes too late has kept its value; what it has sent arrives.
TEST_P(BroadcastModelTest, CloseLosesNothing) {
  Explore(2, [](Scene& scene) {
    bool sent = false;
    std::uint64_t got = 0;
    scene.Thread("sender", [&](Channel channel, Reader) {
      try {
        channel.Send(TrackedValue(0));
        sent = true;
      } catch (const ClosedChannel&) {
      }
    });
    scene.Thread("closer", [](Channel channel, Reader) { channel.Close(); });
    scene.Thread("reader", [&](Channel, Reader reader) { got = scene.ReadAll(std::move(reader)); });
    scene.Join();
    scene.run.Check(sent == (got == 1), "sent and not received, or the other way round");
  });
}

TEST_P(BroadcastModelTest, CommitBeatsCancel) {
  std::array<int, 2> outcomes{};
  Explore(2, [&](Scene& scene) {
    bool cancelled = false;
    scene.Thread("sender", [](Channel channel, Reader) { channel.Send(TrackedValue(0)); });
    scene.Thread("reader", [&](Channel, Reader reader) {
      try {
        scene.run.Check(reader.Recv()->value.number() == 0, "another value");
      } catch (const Cancelled&) {
        cancelled = true;
        const Shield shield;  // what was not taken is there still
        scene.run.Check(reader.Recv()->missed == 0, "taken by a wait that was cancelled");
      }
    });
    scene.Thread("canceller",
                 [&](Channel, Reader) { CancelParker(*scene.parkers[1], ModelParker::kTask); });
    scene.Join();
    ++outcomes[cancelled ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

TEST_P(BroadcastModelTest, TimeoutLosesNothing) {
  std::array<int, 2> outcomes{};
  Explore(2, [&](Scene& scene) {
    ModelTime time;
    bool late = false;
    scene.Thread("sender", [](Channel channel, Reader) { channel.Send(TrackedValue(0)); });
    scene.Thread("reader", [&](Channel, Reader reader) {
      std::optional<Delivery<TrackedValue>> got;
      late = !reader.RecvFor(absl::Nanoseconds(10), got);
      if (late) got = std::nullopt;
      scene.run.Check(late ? reader.Recv()->missed == 0 : got->missed == 0, "a value is lost");
    });
    scene.Thread("time", [&](Channel, Reader) { time.Pass(10); });
    scene.Join();
    ++outcomes[late ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

INSTANTIATE_TEST_SUITE_P(Variants, BroadcastModelTest,
                         ::testing::Values(Parameters{Model::Memory::kSequential, 1},
                                           Parameters{Model::Memory::kSequential, 2},
                                           Parameters{Model::Memory::kStoreBuffers, 1},
                                           Parameters{Model::Memory::kStoreBuffers, 2}));

}  // namespace
}  // namespace csp::internal
