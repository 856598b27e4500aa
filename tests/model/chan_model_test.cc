// csp/chan under every interleaving: each value sent is received once, with what its sender wrote;
// a send that fails has kept its value; nobody is left waiting, nobody touches a channel that is
// gone.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "csp/base/leaning_lock.h"
#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

// What is sent: a pointer, to what the sender has written and the receiver reads.
using Value = ModelPlain<int>*;

struct Parameters {
  Model::Memory memory;
  std::size_t capacity;
  bool leaning;  // the threads are workers, to which locks lean
};

class ChanModelTest : public ::testing::TestWithParam<Parameters> {
 protected:
  // The participants of one execution.
  struct Scene {
    Scene(ModelRun& the_run, std::size_t capacity, bool the_leaning)
        : run(the_run), leaning(the_leaning), chan(MakeChan<Value>(capacity)) {
      for (LeanRecord& record : records) run.Name(record, "record");
    }

    // Adds a thread that may wait, with a handle of its own.
    template <class F>
    void Thread(std::string name, F f) {
      const std::size_t i = parkers.size();
      parkers.push_back(std::make_unique<ModelParker>(run));
      run.Thread(std::move(name), [this, i, f, handle = chan]() mutable {
        parkers[i]->Enter();
        if (leaning) CurrentThread()->lean = &records[i];
        f(std::move(handle));
        CurrentThread()->lean = nullptr;
      });
    }

    void Join() {
      chan = {};  // whoever ends last destroys the channel
      run.Join();
      for (auto& parker : parkers) parker->CheckQuiet();
    }

    // Sends number i; false if the channel was closed or the sender cancelled.
    bool Send(Chan<Value>& handle, int i) {
      Value value = &values[i];
      value->Write(i);
      try {
        handle.Send(value);
        return true;
      } catch (const ClosedChannel&) {
      } catch (const Cancelled&) {
      }
      run.Check(value == &values[i], "a send that failed has touched its value");
      return false;
    }
    // What was received; -1: closed, -2: cancelled.
    int Recv(Chan<Value>& handle) {
      try {
        const std::optional<Value> value = handle.Recv();
        return value.has_value() ? (*value)->Read() : -1;
      } catch (const Cancelled&) {
        return -2;
      }
    }

    ModelRun& run;
    const bool leaning;
    Chan<Value> chan;
    std::vector<std::unique_ptr<ModelParker>> parkers;
    std::array<LeanRecord, 4> records;
    std::array<ModelPlain<int>, 4> values;
  };

  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam().memory, .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore([&](ModelRun& run) {
      Scene scene(run, GetParam().capacity, GetParam().leaning);
      body(scene);
    });
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
};

TEST_P(ChanModelTest, ValuesArriveInOrder) {
  Explore(3, [](Scene& scene) {
    scene.Thread("sender", [&](Chan<Value> chan) {
      for (int i = 0; i < 2; ++i) scene.run.Check(scene.Send(chan, i), "not sent");
    });
    scene.Thread("receiver", [&](Chan<Value> chan) {
      for (int i = 0; i < 2; ++i) scene.run.Check(scene.Recv(chan) == i, "another value");
    });
    scene.Join();
  });
}

TEST_P(ChanModelTest, TwoSendersOneReceiver) {
  Explore(3, [](Scene& scene) {
    std::array<int, 2> got{};
    for (int i = 0; i < 2; ++i) {
      scene.Thread("sender " + std::to_string(i),
                   [&, i](Chan<Value> chan) { scene.run.Check(scene.Send(chan, i), "not sent"); });
    }
    scene.Thread("receiver", [&](Chan<Value> chan) {
      for (int& number : got) number = scene.Recv(chan);
    });
    scene.Join();
    scene.run.Check(got[0] + got[1] == 1 && got[0] * got[1] == 0, "not each once");
  });
}

// Everything sent before Close arrives; what was not sent is known to its sender.
TEST_P(ChanModelTest, CloseLosesNothing) {
  Explore(3, [](Scene& scene) {
    bool sent = false;
    int first = 0;
    scene.Thread("sender", [&](Chan<Value> chan) { sent = scene.Send(chan, 0); });
    scene.Thread("closer", [&](Chan<Value> chan) { chan.Close(); });
    scene.Thread("receiver", [&](Chan<Value> chan) {
      first = scene.Recv(chan);
      if (first != -1) scene.run.Check(scene.Recv(chan) == -1, "more than was sent");
    });
    scene.Join();
    scene.run.Check(sent == (first == 0), "sent and not received, or the other way round");
  });
}

// A send for which there is no room ends with the channel.
TEST_P(ChanModelTest, CloseTellsThoseWhoSend) {
  Explore(-1, [](Scene& scene) {
    scene.Thread("sender", [&](Chan<Value> chan) {
      int sent = 0;
      while (scene.Send(chan, sent)) ++sent;
      scene.run.Check(sent <= static_cast<int>(GetParam().capacity), "sent into nothing");
    });
    scene.Thread("closer", [&](Chan<Value> chan) { chan.Close(); });
    scene.Join();
  });
}

// A value is sent and received, or neither, however the cancellation falls in.
TEST_P(ChanModelTest, CommitBeatsCancel) {
  Explore(3, [](Scene& scene) {
    bool sent = false;
    int got = 0;
    scene.Thread("sender", [&](Chan<Value> chan) { sent = scene.Send(chan, 0); });
    scene.Thread("receiver", [&](Chan<Value> chan) {
      got = scene.Recv(chan);
      if (got == -2) {
        // The value is where it can be had by others; and so the sender is not left waiting.
        const Shield shield;
        got = scene.Recv(chan);
      }
    });
    scene.Thread("canceller",
                 [&](Chan<Value>) { CancelParker(*scene.parkers[1], ModelParker::kTask); });
    scene.Join();
    scene.run.Check(sent && got == 0, "the value was lost");
  });
}

// A receive that times out has left the value to others.
TEST_P(ChanModelTest, TimeoutLosesNothing) {
  std::array<int, 2> outcomes{};
  Explore(2, [&](Scene& scene) {
    ModelTime time;
    bool timed_out = false;
    scene.Thread("sender",
                 [&](Chan<Value> chan) { scene.run.Check(scene.Send(chan, 0), "not sent"); });
    scene.Thread("receiver", [&](Chan<Value> chan) {
      std::optional<Value> value;
      timed_out = !chan.RecvFor(absl::Nanoseconds(10), value);
      const int got = timed_out ? scene.Recv(chan) : (*value)->Read();
      scene.run.Check(got == 0, "another value");
    });
    scene.Thread("time", [&](Chan<Value>) { time.Pass(10); });
    scene.Join();
    ++outcomes[timed_out ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

INSTANTIATE_TEST_SUITE_P(Variants, ChanModelTest,
                         ::testing::Values(Parameters{Model::Memory::kSequential, 0, false},
                                           Parameters{Model::Memory::kSequential, 1, false},
                                           Parameters{Model::Memory::kStoreBuffers, 0, false},
                                           Parameters{Model::Memory::kStoreBuffers, 1, false},
                                           Parameters{Model::Memory::kStoreBuffers, 1, true}));

}  // namespace
}  // namespace csp::internal
