// Does the explorer walk what it says it walks, and does it find the faults
// that it exists for? Each fault is there beside the correct version.
#include "csp/testing/model.h"

#include <array>
#include <memory>
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
// Faults that sequential consistency shows.

TEST(ModelTest, FindsALostUpdate) {
  const Model::Result result = Model().Explore([](ModelRun& run) {
    Atomic<int> counter{0};
    run.Name(counter, "counter");
    for (const char* name : {"ann", "bob"}) {
      run.Thread(name, [&] { counter.store(counter.load() + 1); });
    }
    run.Join();
    run.Check(counter.load() == 2, "an update was lost");
  });
  EXPECT_FALSE(result.ok);
  // The schedule is there, and names what it can.
  EXPECT_NE(result.failure.find("an update was lost"), std::string::npos);
  EXPECT_NE(result.failure.find("model_test.cc"), std::string::npos);
  for (const char* word : {"ann", "bob", "counter", "load", "0 -> 1"}) {
    EXPECT_NE(result.failure.find(word), std::string::npos) << word << " in:\n" << result.failure;
  }
}

// Two locks taken in opposite order.
TEST(ModelTest, FindsADeadlock) {
  for (const bool same_order : {true, false}) {
    const Model::Result result = Model().Explore([&](ModelRun& run) {
      std::array<Atomic<bool>, 2> locks{};
      for (int i = 0; i < 2; ++i) {
        const int first = same_order ? 0 : i;
        run.Thread([&locks, first] {
          for (const int lock : {first, 1 - first}) {
            while (locks[lock].exchange(true, kAcquire)) CpuRelax();
          }
          for (Atomic<bool>& lock : locks) lock.store(false, kRelease);
        });
      }
      run.Join();
    });
    EXPECT_EQ(result.ok, same_order) << result;
    EXPECT_GT(result.executions, 1u);
    if (!same_order) {
      EXPECT_NE(result.failure.find("deadlock"), std::string::npos) << result;
    }
  }
}

struct Sleeper {
  Atomic<bool> ready{false};
  Atomic<bool> asleep{false};
  Atomic<bool> woken{false};

  void Sleep() {
    while (!woken.load()) CpuRelax();
  }
  void Wake() { woken.store(true); }
};

TEST(ModelTest, FindsAMissedWakeUp) {
  for (const bool look_again : {false, true}) {
    const Model::Result result = Model().Explore([&](ModelRun& run) {
      Sleeper sleeper;
      run.Name(sleeper.ready, "ready");
      run.Thread("consumer", [&] {
        if (sleeper.ready.load()) return;
        sleeper.asleep.store(true);
        if (look_again && sleeper.ready.load()) return;
        sleeper.Sleep();
      });
      run.Thread("producer", [&] {
        sleeper.ready.store(true);
        if (sleeper.asleep.load()) sleeper.Wake();
      });
      run.Join();
    });
    EXPECT_EQ(result.ok, look_again) << result;
    EXPECT_GT(result.executions, 1u);
    if (!look_again) {
      EXPECT_NE(result.failure.find("deadlock"), std::string::npos) << result;
      EXPECT_NE(result.failure.find("consumer has not ended"), std::string::npos) << result;
    }
  }
}

// A stack that compares only the pointer: a node that left and came back in the
// meantime takes a stale `next` with it.
struct Node {
  Atomic<Node*> next{nullptr};
};

class TreiberStack {
 public:
  explicit TreiberStack(bool counted) : counted_(counted) {}

  void Push(Node* node) {
    std::uint64_t top = top_.load();
    do {
      node->next.store(Pointer(top));
    } while (!top_.compare_exchange_weak(top, Tag(node, top)));
  }
  Node* Pop() {
    std::uint64_t top = top_.load();
    for (;;) {
      Node* node = Pointer(top);
      if (node == nullptr) return nullptr;
      if (top_.compare_exchange_weak(top, Tag(node->next.load(), top))) {
        return node;
      }
    }
  }

 private:
  static constexpr int kPointerBits = 48;

  static Node* Pointer(std::uint64_t word) {
    return reinterpret_cast<Node*>(word & ((1ULL << kPointerBits) - 1));
  }
  std::uint64_t Tag(Node* node, std::uint64_t old) const {
    const std::uint64_t count = counted_ ? (old >> kPointerBits) + 1 : std::uint64_t{0};
    return count << kPointerBits | reinterpret_cast<std::uint64_t>(node);
  }

  const bool counted_;
  Atomic<std::uint64_t> top_{0};
};

TEST(ModelTest, FindsAnAbaOnATreiberStack) {
  for (const bool counted : {false, true}) {
    const Model::Result result = Model().Explore([&](ModelRun& run) {
      TreiberStack stack(counted);
      std::array<Node, 2> nodes;
      std::array<Node*, 2> taken{};
      stack.Push(&nodes[1]);
      stack.Push(&nodes[0]);
      run.Thread([&] { taken[0] = stack.Pop(); });
      run.Thread([&] {
        Node* first = stack.Pop();
        taken[1] = stack.Pop();
        if (first != nullptr) stack.Push(first);
      });
      run.Join();
      std::multiset<Node*> found(taken.begin(), taken.end());
      while (Node* node = stack.Pop()) found.insert(node);
      found.erase(nullptr);
      run.Check(found == std::multiset<Node*>{&nodes[0], &nodes[1]},
                "a node was lost or is there twice");
    });
    EXPECT_EQ(result.ok, counted) << result;
    EXPECT_GT(result.executions, 1u);
  }
}

// ---------------------------------------------------------------------------
// Faults of ordering.

enum class Flags { kRelaxedStore, kSeqCstStore, kExchange };

void Raise(Atomic<int>& flag, Flags how) {
  switch (how) {
    case Flags::kRelaxedStore:
      flag.store(1, kRelaxed);
      break;
    case Flags::kSeqCstStore:
      flag.store(1);
      break;
    case Flags::kExchange:
      flag.exchange(1, kRelaxed);
      break;
  }
}

// Dekker's entry: raise my flag, look at the other's. At most one may enter.
Model::Result Dekker(Model::Memory memory, Flags how) {
  return Model({.memory = memory}).Explore([&](ModelRun& run) {
    std::array<Atomic<int>, 2> flags;
    std::array<bool, 2> entered{};
    for (int i = 0; i < 2; ++i) {
      run.Thread([&, i] {
        Raise(flags[i], how);
        entered[i] = flags[1 - i].load(kRelaxed) == 0;
      });
    }
    run.Join();
    run.Check(!(entered[0] && entered[1]), "both are inside");
  });
}

TEST(ModelTest, DekkerNeedsStoresThatDoNotLinger) {
  constexpr auto kSequential = Model::Memory::kSequential;
  constexpr auto kStoreBuffers = Model::Memory::kStoreBuffers;
  EXPECT_TRUE(Dekker(kSequential, Flags::kRelaxedStore).ok);
  const Model::Result broken = Dekker(kStoreBuffers, Flags::kRelaxedStore);
  EXPECT_FALSE(broken.ok);
  EXPECT_NE(broken.failure.find("in its store buffer"), std::string::npos) << broken;
  for (const Flags how : {Flags::kSeqCstStore, Flags::kExchange}) {
    const Model::Result result = Dekker(kStoreBuffers, how);
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
}

// One side's barrier may be nothing, if the other's is heavy.
TEST(ModelTest, AsymmetricDekker) {
  for (const bool heavy : {true, false}) {
    const Model model({.memory = Model::Memory::kStoreBuffers});
    const Model::Result result = model.Explore([&](ModelRun& run) {
      std::array<Atomic<int>, 2> flags;
      std::array<bool, 2> entered{};
      run.Thread("often", [&] {
        flags[0].store(1, kRelaxed);
        csp::internal::LightBarrier();
        entered[0] = flags[1].load(kRelaxed) == 0;
      });
      run.Thread("rarely", [&] {
        flags[1].store(1, kRelaxed);
        if (heavy) csp::internal::HeavyBarrier();
        entered[1] = flags[0].load(kRelaxed) == 0;
      });
      run.Join();
      run.Check(!(entered[0] && entered[1]), "both are inside");
    });
    EXPECT_EQ(result.ok, heavy) << result;
    EXPECT_GE(result.executions, heavy ? 2u : 1u);
  }
}

// Stores leave a buffer in their order: a message is never seen before what it
// announces, nor is a thread's own store hidden from itself.
TEST(ModelTest, StoreBuffersKeepTheirOrder) {
  const Model model({.memory = Model::Memory::kStoreBuffers});
  const Model::Result result = model.Explore([](ModelRun& run) {
    Atomic<int> data{0};
    Atomic<int> flag{0};
    run.Thread([&] {
      data.store(1, kRelaxed);
      run.Check(data.load(kRelaxed) == 1, "its own store is hidden");
      data.store(2, kRelaxed);
      flag.store(1, kRelaxed);
    });
    run.Thread([&] {
      if (flag.load(kRelaxed) == 1) {
        run.Check(data.load(kRelaxed) == 2, "overtaken");
      }
    });
    run.Join();
    run.Check(data.load() == 2, "a store never became visible");
  });
  EXPECT_TRUE(result.ok) << result;
  EXPECT_GT(result.executions, 1u);
}

Model::Result PassMessage(std::memory_order store, std::memory_order load) {
  return Model().Explore([&](ModelRun& run) {
    ModelPlain<int> data;
    Atomic<bool> sent{false};
    run.Name(data, "data");
    run.Thread("sender", [&] {
      data.Write(7);
      sent.store(true, store);
    });
    run.Thread("receiver", [&] {
      while (!sent.load(load)) CpuRelax();
      run.Check(data.Read() == 7, "not what was sent");
    });
    run.Join();
  });
}

TEST(ModelTest, FindsAStoreThatDoesNotPublish) {
  EXPECT_TRUE(PassMessage(kRelease, kAcquire).ok);
  for (const Model::Result& result :
       {PassMessage(kRelaxed, kAcquire), PassMessage(kRelease, kRelaxed)}) {
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.failure.find("data race with sender on data"), std::string::npos) << result;
  }
}

// An update in between, however relaxed, does not end a release sequence; a
// relaxed store does.
TEST(ModelTest, ReleaseSequences) {
  for (const bool update : {true, false}) {
    const Model::Result result = Model().Explore([&](ModelRun& run) {
      ModelPlain<int> data;
      Atomic<int> sent{0};
      run.Thread([&] {
        data.Write(7);
        sent.store(1, kRelease);
      });
      run.Thread([&] {
        if (update) {
          sent.fetch_add(1, kRelaxed);
        } else if (sent.load(kRelaxed) == 1) {
          sent.store(2, kRelaxed);
        }
      });
      run.Thread([&] {
        if (sent.load(kAcquire) == 2) data.Read();
      });
      run.Join();
    });
    EXPECT_EQ(result.ok, update) << result;
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

TEST(ModelTest, FindsAnAtomicThatEndsTooEarly) {
  const Model model({.memory = Model::Memory::kStoreBuffers});
  const Model::Result result = model.Explore([](ModelRun& run) {
    Atomic<int> done{0};
    auto object = std::make_unique<Atomic<int>>(0);
    run.Thread([&] {
      done.store(1, kRelease);
      object->store(1, kRelease);  // the last touch comes after the message
    });
    run.Thread([&] {
      while (done.load(kAcquire) == 0) CpuRelax();
      object.reset();
    });
    run.Join();
  });
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.failure.find("an atomic ends while"), std::string::npos) << result;
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
