// csp/select/select under every interleaving: a select goes through with exactly one of its cases,
// the others have done nothing, and two that could pair do not sleep past each other.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

class SelectModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  // The threads of one execution.
  class Threads {
   public:
    explicit Threads(ModelRun& run) : run_(run) {}

    template <class F>
    void Add(std::string name, F f) {
      ModelParker* parker = parkers_.emplace_back(std::make_unique<ModelParker>(run_)).get();
      run_.Thread(std::move(name), [parker, f]() mutable {
        parker->Enter();
        f();
      });
    }
    ModelParker& parker(int i) { return *parkers_[i]; }
    void Join() {
      run_.Join();
      for (auto& parker : parkers_) parker->CheckQuiet();
    }

   private:
    ModelRun& run_;
    std::vector<std::unique_ptr<ModelParker>> parkers_;
  };

  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam(), .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore([&](ModelRun& run) {
      Threads threads(run);
      body(run, threads);
    });
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
};

// Two senders on two channels: one is taken by the select, the other by whoever comes afterwards.
TEST_P(SelectModelTest, OneOfTwoSendersIsTaken) {
  std::array<int, 2> won{};
  Explore(2, [&](ModelRun& run, Threads& threads) {
    std::array<Chan<int>, 2> chans{MakeChan<int>(), MakeChan<int>()};
    int winner = -1;
    for (int i = 0; i < 2; ++i) {
      threads.Add("sender " + std::to_string(i), [&chans, i] { chans[i].Send(i); });
    }
    threads.Add("selecting", [&] {
      const auto note = [&](std::optional<int> value) { winner = *value; };
      Select(chans[0].OnRecv() >> note, chans[1].OnRecv() >> note);
      run.Check(chans[1 - winner].Recv() == 1 - winner, "the loser's value was touched");
    });
    threads.Join();
    ++won[winner];
  });
  EXPECT_GT(won[0], 0);
  EXPECT_GT(won[1], 0);
}

// One sends on x or receives on y, the other the other way round. Neither can go on without the
// other; both go on by one and the same channel.
TEST_P(SelectModelTest, CrossedSelectsMeet) {
  Explore(GetParam() == Model::Memory::kSequential ? 3 : 2, [](ModelRun& run, Threads& threads) {
    std::array<Chan<int>, 2> chans{MakeChan<int>(), MakeChan<int>()};
    std::array<int, 2> sent{-1, -1};
    std::array<int, 2> got{-1, -1};
    for (int i = 0; i < 2; ++i) {
      threads.Add("selecting " + std::to_string(i), [&, i] {
        int value = 10 + i;
        Select(
            chans[i].OnSend(value) >> [&] { sent[i] = i; },
            chans[1 - i].OnRecv() >> [&](std::optional<int> v) { got[i] = *v; });
      });
    }
    threads.Join();
    for (int i = 0; i < 2; ++i) {
      run.Check((sent[i] >= 0) != (got[i] >= 0), "not exactly one case");
      run.Check((sent[i] >= 0) == (got[1 - i] == 10 + i), "sent and not received");
    }
  });
}

// Three in a ring, each between two channels: two of them meet, and the third is left to whoever
// comes.
TEST_P(SelectModelTest, ARingOfThreeMeets) {
  Explore(1, [](ModelRun& run, Threads& threads) {
    std::array<Chan<int>, 3> chans{MakeChan<int>(), MakeChan<int>(), MakeChan<int>()};
    Atomic<int> met{0};
    for (int i = 0; i < 3; ++i) {
      threads.Add("selecting " + std::to_string(i), [&, i] {
        int value = i;
        const bool sent = Select(
            chans[i].OnSend(value) >> [] { return true; },
            chans[(i + 1) % 3].OnRecv() >> [](auto) { return false; });
        // One of the two lets the third go: what it receives from is what the receiver sends to.
        if (met.fetch_add(1) == 1) chans[sent ? (i + 2) % 3 : i].Close();
      });
    }
    threads.Join();
    run.Check(met.load() == 3, "not all went on");
  });
}

// Both select on both ends of one channel: a select does not pair with itself.
TEST_P(SelectModelTest, ASelectDoesNotMeetItself) {
  Explore(GetParam() == Model::Memory::kSequential ? 3 : 2, [](ModelRun& run, Threads& threads) {
    Chan<int> chan = MakeChan<int>();
    std::array<bool, 2> sent{};
    for (int i = 0; i < 2; ++i) {
      threads.Add("selecting " + std::to_string(i), [&, i] {
        int value = i;
        Select(
            chan.OnSend(value) >> [&] { sent[i] = true; },
            chan.OnRecv() >> [&](std::optional<int> v) { run.Check(*v == 1 - i, "its own"); });
      });
    }
    threads.Join();
    run.Check(sent[0] != sent[1], "not one sender and one receiver");
  });
}

// One value goes from one channel to the other, and never is in neither: Default is not taken,
// though each channel, when looked at by itself, may be empty.
TEST_P(SelectModelTest, DefaultIsExact) {
  Explore(4, [](ModelRun& run, Threads& threads) {
    std::array<Chan<int>, 2> chans{MakeChan<int>(1), MakeChan<int>(1)};
    int value = 1;
    (void)chans[0].TrySend(value);
    bool took_default = false;
    threads.Add("mover", [&] {
      chans[1].Send(1);
      // From here on there are two until one of them is taken.
      std::optional<int> taken;
      (void)chans[0].TryRecv(taken);
    });
    threads.Add("selecting", [&] {
      Select(
          chans[0].OnRecv(), chans[1].OnRecv(), Default >> [&]() -> std::optional<int> {
            took_default = true;
            return {};
          });
    });
    threads.Join();
    run.Check(!took_default, "Default, though at each moment a case was ready");
  });
}

// A cancelled select has done nothing; one that has gone through is not cancelled.
TEST_P(SelectModelTest, CommitBeatsCancel) {
  std::array<int, 2> outcomes{};
  Explore(3, [&](ModelRun& run, Threads& threads) {
    std::array<Chan<int>, 2> chans{MakeChan<int>(1), MakeChan<int>()};
    bool cancelled = false;
    threads.Add("selecting", [&] {
      try {
        Select(chans[0].OnRecv(), chans[1].OnRecv());
      } catch (const Cancelled&) {
        cancelled = true;
      }
    });
    threads.Add("sender", [&] { chans[0].Send(1); });
    threads.Add("canceller", [&] { CancelParker(threads.parker(0), ModelParker::kTask); });
    threads.Join();
    run.Check(chans[0].len() == (cancelled ? 1u : 0u), "the value is not in one place");
    ++outcomes[cancelled ? 1 : 0];
  });
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

// Close ends a select that waits for either end.
TEST_P(SelectModelTest, CloseEndsASelect) {
  Explore(-1, [](ModelRun& run, Threads& threads) {
    Chan<int> chan = MakeChan<int>();
    Chan<int> other = MakeChan<int>();
    threads.Add("selecting", [&] {
      try {
        int value = 1;
        Select(
            other.OnRecv() >> [&](std::optional<int>) { run.Fail("nobody sends"); },
            chan.OnSend(value) >> [&] { run.Fail("nobody receives"); });
        run.Fail("a send on a closed channel throws");
      } catch (const ClosedChannel&) {
      }
    });
    threads.Add("closer", [&] { chan.Close(); });
    threads.Join();
  });
}

// Whoever has waited for an event may destroy it, while Set is on its way out.
TEST_P(SelectModelTest, AnEventMayEndOnceItIsSet) {
  Explore(-1, [](ModelRun& run, Threads& threads) {
    auto event = std::make_unique<Event>();
    Event* const same = event.get();
    ModelPlain<int> data;
    threads.Add("waiter", [&] {
      event->Wait();
      event.reset();
      data.Read();
    });
    threads.Add("setter", [&] {
      data.Write(1);
      same->Set();
    });
    threads.Join();
    run.Check(event == nullptr, "has not waited");
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, SelectModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
