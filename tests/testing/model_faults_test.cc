// Does the explorer find the faults that it exists for? Each fault is there beside the correct
// version.
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "csp/base/atomic.h"
#include "csp/testing/model.h"
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
// Faults that sequential consistency shows.

TEST(ModelFaultsTest, FindsALostUpdate) {
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
  EXPECT_NE(result.failure.find("model_faults_test.cc"), std::string::npos);
  for (const char* word : {"ann", "bob", "counter", "load", "0 -> 1"}) {
    EXPECT_NE(result.failure.find(word), std::string::npos) << word << " in:\n" << result.failure;
  }
}

// Two locks taken in opposite order.
TEST(ModelFaultsTest, FindsADeadlock) {
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

TEST(ModelFaultsTest, FindsAMissedWakeUp) {
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

TEST(ModelFaultsTest, FindsAnAbaOnATreiberStack) {
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

TEST(ModelFaultsTest, DekkerNeedsStoresThatDoNotLinger) {
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
TEST(ModelFaultsTest, AsymmetricDekker) {
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
TEST(ModelFaultsTest, StoreBuffersKeepTheirOrder) {
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

TEST(ModelFaultsTest, FindsAStoreThatDoesNotPublish) {
  EXPECT_TRUE(PassMessage(kRelease, kAcquire).ok);
  for (const Model::Result& result :
       {PassMessage(kRelaxed, kAcquire), PassMessage(kRelease, kRelaxed)}) {
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.failure.find("data race with sender on data"), std::string::npos) << result;
  }
}

// An update in between, however relaxed, does not end a release sequence; a
// relaxed store does.
TEST(ModelFaultsTest, ReleaseSequences) {
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

TEST(ModelFaultsTest, FindsAnAtomicThatEndsTooEarly) {
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

}  // namespace
}  // namespace csp
