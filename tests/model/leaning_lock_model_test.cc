// csp/base/leaning_lock under every interleaving and every delay of a store. In a model a lock
// leans after two sections in a row.
#include <array>
#include <mutex>
#include <string>

#include "csp/base/leaning_lock.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

// Two locks, what each guards, and workers' records.
struct Scene {
  explicit Scene(ModelRun& the_run) : run(the_run) {
    for (int i = 0; i < 2; ++i) {
      run.Name(locks[i], "lock" + std::to_string(i));
      run.Name(counters[i], "counter" + std::to_string(i));
    }
    for (LeanRecord& record : records) run.Name(record, "record");
  }

  // From a model thread: it is the worker of records[i].
  void BecomeWorker(int i) { CurrentThread()->lean = &records[i]; }

  void Section(int i) {
    const std::lock_guard guard(locks[i]);
    counters[i].Write(counters[i].Read() + 1);
  }

  // Lets lock `i` lean to records[0] before the threads start.
  void Lean(int i) {
    BecomeWorker(0);
    for (int k = 0; k < 4; ++k) Section(i);
    CurrentThread()->lean = nullptr;
    sections[i] = 4;
  }

  void CheckSums(int first, int second) {
    run.Check(counters[0].Read() == sections[0] + first, "an update was lost");
    run.Check(counters[1].Read() == sections[1] + second, "an update was lost");
  }

  ModelRun& run;
  std::array<LeaningLock, 2> locks;
  std::array<ModelPlain<int>, 2> counters;
  std::array<LeanRecord, 2> records;
  std::array<int, 2> sections{};  // before the threads
};

class LeaningLockModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam(), .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore([&](ModelRun& run) {
      Scene scene(run);
      body(scene, run);
    });
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
};

TEST_P(LeaningLockModelTest, AForeignThreadStraightensTheLock) {
  Explore(-1, [](Scene& scene, ModelRun& run) {
    scene.Lean(0);
    run.Thread("favourite", [&] {
      scene.BecomeWorker(0);
      scene.Section(0);
      scene.Section(0);
    });
    run.Thread("foreign", [&] { scene.Section(0); });
    run.Join();
    scene.CheckSums(3, 0);
  });
}

TEST_P(LeaningLockModelTest, TheLockBeginsToLeanUnderContention) {
  Explore(4, [](Scene& scene, ModelRun& run) {
    for (int i = 0; i < 2; ++i) {
      run.Thread("worker " + std::to_string(i), [&scene, i] {
        scene.BecomeWorker(i);
        for (int k = 0; k < 4; ++k) scene.Section(0);
      });
    }
    run.Join();
    scene.CheckSums(8, 0);
  });
}

// The favourite goes from one lock straight into another: whoever straightens the first sees it
// inside the second, and must know what it did in the first.
TEST_P(LeaningLockModelTest, TheFavouriteOfTwoLocks) {
  Explore(4, [](Scene& scene, ModelRun& run) {
    scene.Lean(0);
    scene.Lean(1);
    run.Thread("favourite", [&] {
      scene.BecomeWorker(0);
      scene.Section(0);
      scene.Section(1);
    });
    run.Thread("foreign", [&] { scene.Section(0); });
    run.Thread("other", [&] { scene.Section(1); });
    run.Join();
    scene.CheckSums(2, 2);
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, LeaningLockModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
