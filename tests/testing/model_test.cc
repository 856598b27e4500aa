// Does the explorer walk what it says it walks, and what does a test that uses it meet?
// (model_faults_test.cc: does it find the faults that it exists for?)
#include "csp/testing/model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "csp/base/atomic.h"
#include "csp/base/random.h"
#include "gtest/gtest.h"

namespace csp {
namespace {

using csp::internal::Atomic;
using csp::internal::CpuRelax;
using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

// ---------------------------------------------------------------------------
// The walk.

Model EveryInterleaving() { return Model({.merge_equivalent = false}); }

TEST(ModelTest, TwoThreadsOfTwoStepsHaveSixInterleavings) {
  const Model::Result result = EveryInterleaving().Explore([](ModelRun& run) {
    Atomic<int> x{0};
    for (int i = 0; i < 2; ++i) {
      run.Thread([&] {
        x.load();
        x.store(1);
      });
    }
    run.Join();
  });
  EXPECT_TRUE(result.ok) << result;
  EXPECT_EQ(result.executions, 6u);  // 4! / (2! 2!)
  EXPECT_EQ(result.max_depth, 4u);
  EXPECT_EQ(result.merged, 0u);
}

TEST(ModelTest, ThreeThreadsOfTwoStepsHaveNinety) {
  const Model::Result result = EveryInterleaving().Explore([](ModelRun& run) {
    Atomic<int> x{0};
    for (int i = 0; i < 3; ++i) {
      run.Thread([&] {
        x.fetch_add(1);
        x.fetch_add(1);
      });
    }
    run.Join();
    run.Check(x.load() == 6, "an update was lost");
  });
  EXPECT_TRUE(result.ok) << result;
  EXPECT_EQ(result.executions, 90u);  // 6! / (2! 2! 2!)
}

TEST(ModelTest, StepsThatDoNotMeetAreMerged) {
  const auto explore = [](bool merge) {
    return Model({.merge_equivalent = merge}).Explore([](ModelRun& run) {
      std::array<Atomic<int>, 3> x;
      for (int i = 0; i < 3; ++i) {
        run.Thread([&x, i] {
          x[i].store(1);
          x[i].store(2);
          x[i].store(3);
        });
      }
      run.Join();
    });
  };
  const Model::Result all = explore(false);
  EXPECT_TRUE(all.ok) << all;
  EXPECT_EQ(all.executions, 1680u);  // 9! / (3! 3! 3!)
  const Model::Result merged = explore(true);
  EXPECT_TRUE(merged.ok) << merged;
  EXPECT_EQ(merged.executions, merged.merged + 1);  // one ran to its end on new ground
  EXPECT_LE(merged.states, 64u);                    // 4 * 4 * 4
}

// A small program at random: what each thread does to two variables.
class RandomProgram {
 public:
  using Outcome = std::vector<int>;

  explicit RandomProgram(std::uint64_t seed) {
    csp::internal::Random random(seed * 0x9E3779B97F4A7C15);
    const int threads = 2 + static_cast<int>(random.Below(2));
    for (int i = 0; i < threads; ++i) {
      std::vector<Step>& steps = threads_.emplace_back();
      for (int k = 0; k < (threads == 2 ? 4 : 2); ++k) {
        steps.push_back({static_cast<Do>(random.Below(kKinds)), random.Below(2) == 0,
                         static_cast<int>(1 + random.Below(3))});
      }
    }
  }

  // All that the program can return, under `options`; in case of a deadlock, {-1} too.
  std::set<Outcome> Outcomes(const Model::Options& options) const {
    std::set<Outcome> outcomes;
    const Model::Result result = Model(options).Explore([&](ModelRun& run) {
      Atomic<int> x{0};
      Atomic<int> y{0};
      std::vector<Outcome> seen(threads_.size());
      for (std::size_t i = 0; i < threads_.size(); ++i) {
        run.Thread([&, i] {
          for (const Step& step : threads_[i]) {
            Outcome& out = seen[i];
            Perform(step, step.on_x ? x : y, out);
          }
        });
      }
      run.Join();
      Outcome all{x.load(), y.load()};
      for (const Outcome& out : seen) all.insert(all.end(), out.begin(), out.end());
      outcomes.insert(all);
    });
    if (!result.ok) {
      EXPECT_NE(result.failure.find("deadlock"), std::string::npos) << result;
      return {{-1}};  // the walk has stopped there
    }
    return outcomes;
  }

 private:
  enum class Do {
    kLoad,
    kStore,
    kSeqCstStore,
    kExchange,
    kAdd,
    kCompareExchange,
    kAwait,
    kBarrier
  };
  static constexpr int kKinds = 8;

  struct Step {
    Do what;
    bool on_x;
    int value;
  };

  static void Perform(const Step& step, Atomic<int>& variable, Outcome& out) {
    int old = 0;
    switch (step.what) {
      case Do::kLoad:
        out.push_back(variable.load(kRelaxed));
        break;
      case Do::kStore:
        variable.store(step.value, kRelease);
        break;
      case Do::kSeqCstStore:
        variable.store(step.value);
        break;
      case Do::kExchange:
        out.push_back(variable.exchange(step.value));
        break;
      case Do::kAdd:
        out.push_back(variable.fetch_add(step.value, kRelaxed));
        break;
      case Do::kCompareExchange:
        variable.compare_exchange_weak(old, step.value);
        out.push_back(old);
        break;
      case Do::kAwait:
        while (variable.load(kAcquire) == 0) CpuRelax();
        break;
      case Do::kBarrier:
        csp::internal::HeavyBarrier();
        break;
    }
  }

  std::vector<std::vector<Step>> threads_;
};

// Merging must not lose an outcome, with or without a bound.
TEST(ModelTest, MergingLosesNoOutcome) {
  constexpr int kPrograms = 150;
  std::size_t outcomes = 0;
  int deadlocks = 0;
  for (int seed = 1; seed <= kPrograms; ++seed) {
    const RandomProgram program(seed);
    for (const auto memory : {Model::Memory::kSequential, Model::Memory::kStoreBuffers}) {
      for (const int bound : {-1, 0, 1, 2}) {
        Model::Options options{
            .memory = memory, .max_preemptions = bound, .spurious_failures = seed % 2};
        const auto merged = program.Outcomes(options);
        options.merge_equivalent = false;
        const auto all = program.Outcomes(options);
        ASSERT_EQ(merged, all) << "program " << seed << ", bound " << bound;
        outcomes += all.size();
        deadlocks += all.contains({-1}) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(outcomes, 5000u);
  EXPECT_GT(deadlocks, 10);
}

TEST(ModelTest, PreemptionsCanBeBounded) {
  auto executions = [](int bound) {
    const Model model({.merge_equivalent = false, .max_preemptions = bound});
    const Model::Result result = model.Explore([](ModelRun& run) {
      Atomic<int> x{0};
      for (int i = 0; i < 2; ++i) {
        run.Thread([&] {
          x.load();
          x.load();
        });
      }
      run.Join();
    });
    EXPECT_TRUE(result.ok) << result;
    return result.executions;
  };
  EXPECT_EQ(executions(0), 2u);  // aabb bbaa
  EXPECT_EQ(executions(1), 4u);  // ... abba baab
  EXPECT_EQ(executions(2), 6u);
}

TEST(ModelTest, ChooseTakesEveryWay) {
  std::multiset<int> seen;
  const Model::Result result = Model().Explore([&](ModelRun& run) {
    const int first = run.Choose(2);
    int second = 0;
    run.Thread([&] { second = run.Choose(3); });
    run.Join();
    seen.insert(10 * first + second);
  });
  EXPECT_TRUE(result.ok) << result;
  EXPECT_EQ(seen, (std::multiset<int>{0, 1, 2, 10, 11, 12}));
}

TEST(ModelTest, WeakCompareExchangeFailsAsOftenAsAllowed) {
  for (const int failures : {0, 2}) {
    int most_attempts = 0;
    const Model model({.spurious_failures = failures});
    const Model::Result result = model.Explore([&](ModelRun& run) {
      Atomic<int> x{0};
      int attempts = 1;
      run.Thread([&] {
        int expected = 0;
        while (!x.compare_exchange_weak(expected, 1)) ++attempts;
      });
      run.Join();
      run.Check(x.load() == 1, "no exchange");
      most_attempts = std::max(most_attempts, attempts);
    });
    EXPECT_TRUE(result.ok) << result;
    EXPECT_EQ(most_attempts, 1 + failures);
  }
}

// ---------------------------------------------------------------------------
// What a test that uses it meets.

TEST(ModelTest, ALoopThatNobodyEndsIsADeadlock) {
  const Model::Result result = Model().Explore([](ModelRun& run) {
    Atomic<bool> never{false};
    run.Name(never, "never");
    run.Thread([&] {
      while (!never.load()) CpuRelax();
    });
    run.Join();
  });
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.failure.find("its loop has read never=0"), std::string::npos) << result;
}

TEST(ModelTest, ALoopWithoutCpuRelaxIsReported) {
  const Model model({.max_steps = 100});
  const Model::Result result = model.Explore([](ModelRun& run) {
    Atomic<bool> never{false};
    run.Thread([&] {
      while (!never.load()) {
      }
    });
    run.Join();
  });
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.failure.find("livelock"), std::string::npos) << result;
}

TEST(ModelTest, TooManyExecutionsAreAFailure) {
  const Model model({.merge_equivalent = false, .max_executions = 5});
  const Model::Result result = model.Explore([](ModelRun& run) {
    Atomic<int> x{0};
    for (int i = 0; i < 2; ++i) {
      run.Thread([&] {
        x.load();
        x.load();
      });
    }
    run.Join();
  });
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.executions, 5u);
  EXPECT_NE(result.failure.find("max_executions"), std::string::npos);
}

TEST(ModelTest, AModelThatDoesNotRepeatItselfIsAFailure) {
  int calls = 0;
  const Model::Result result = EveryInterleaving().Explore([&](ModelRun& run) {
    Atomic<int> x{0};
    const int threads = calls++ == 0 ? 2 : 3;
    for (int i = 0; i < threads; ++i) {
      run.Thread([&] {
        x.load();
        x.load();
      });
    }
    run.Join();
  });
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.failure.find("does not repeat itself"), std::string::npos) << result;
}

TEST(ModelTest, ExceptionsAreTheThreadsOwn) {
  const Model::Result caught = Model().Explore([](ModelRun& run) {
    Atomic<int> x{0};
    for (int i = 0; i < 2; ++i) {
      run.Thread([&run, &x, i] {
        try {
          throw i;
        } catch (int own) {
          x.fetch_add(1);  // the other throws and catches here
          run.Check(own == i, "another thread's exception");
          try {
            throw;
          } catch (int again) {
            run.Check(again == i, "another thread's exception again");
          }
        }
      });
    }
    run.Join();
  });
  EXPECT_TRUE(caught.ok) << caught;

  const Model::Result thrown = Model().Explore([](ModelRun& run) {
    run.Thread([] { throw std::runtime_error("out of luck"); });
    run.Join();
  });
  EXPECT_FALSE(thrown.ok);
  EXPECT_NE(thrown.failure.find("out of luck"), std::string::npos) << thrown;
}

TEST(ModelTest, AThreadWithoutJoinIsAFailure) {
  const Model::Result result = Model().Explore([](ModelRun& run) { run.Thread([] {}); });
  EXPECT_FALSE(result.ok);
}

TEST(ModelTest, JoinsMayFollowEachOther) {
  const Model::Result result = Model().Explore([](ModelRun& run) {
    Atomic<int> x{0};
    ModelPlain<int> data;
    for (int phase = 1; phase <= 2; ++phase) {
      run.Thread([&] {
        data.Write(phase);
        x.fetch_add(1, kRelaxed);
      });
      run.Thread([&] { x.fetch_add(1, kRelaxed); });
      run.Join();
      run.Check(data.Read() == phase && x.load() == 2 * phase, "a phase");
    }
  });
  EXPECT_TRUE(result.ok) << result;
  EXPECT_GT(result.executions, 1u);
}

TEST(ModelDeathTest, AnAbortPrintsTheSchedule) {
  EXPECT_DEATH(Model().Explore([](ModelRun& run) {
    Atomic<int> x{0};
    run.Name(x, "the_variable");
    run.Thread([&] {
      x.store(1);
      std::abort();
    });
    run.Join();
  }),
               "aborted in a model(.|\n)*the_variable");
}

}  // namespace
}  // namespace csp
