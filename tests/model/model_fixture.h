// The fixture of models: a body is explored in both kinds of memory.
//
//   using LatchModelTest = csp::internal::ModelTest;
//   CSP_INSTANTIATE_MODEL(LatchModelTest);
//
//   TEST_P(LatchModelTest, OpensOrIsLeft) {
//     BothEnds opened;
//     Explore(3, [&](ModelRun& run) {
//       …
//       run.Join();
//       opened.Saw(got);
//     });
//   }
#ifndef CSP_TESTS_MODEL_MODEL_FIXTURE_H_
#define CSP_TESTS_MODEL_MODEL_FIXTURE_H_

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "csp/base/panic.h"
#include "csp/select/blocking.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"
#include "tests/model/model_parker.h"

namespace csp::internal {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

class ModelTest : public ::testing::TestWithParam<Model::Memory> {
 protected:
  // `max_preemptions` as Model::Options has it: -1 is every interleaving.
  template <class Body>
  static void Explore(int max_preemptions, Body body) {
    const Model model({.memory = GetParam(), .max_preemptions = max_preemptions});
    const Model::Result result = model.Explore(body);
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
};

#define CSP_INSTANTIATE_MODEL(Suite)                                                   \
  INSTANTIATE_TEST_SUITE_P(Memory, Suite,                                              \
                           ::testing::Values(csp::testing::Model::Memory::kSequential, \
                                             csp::testing::Model::Memory::kStoreBuffers))

// A race that can end in two ways: both must have been seen when all has been explored.
class BothEnds {
 public:
  BothEnds() = default;
  ~BothEnds() { EXPECT_TRUE(seen_[0] && seen_[1]) << "it always ends " << seen_[1]; }
  BothEnds(const BothEnds&) = delete;
  BothEnds& operator=(const BothEnds&) = delete;

  void Saw(bool which) { seen_[which ? 1 : 0] = true; }

 private:
  std::array<bool, 2> seen_{};
};

// Model threads that use csp, each with a parker of its own.
template <std::size_t kCount>
class Actors {
 public:
  explicit Actors(ModelRun& run) : Actors(run, std::make_index_sequence<kCount>()) {}

  // Adds the next one.
  void Start(const std::string& name, std::function<void()> body) {
    ModelParker& parker = parkers_[started_++];
    run_.Thread(name, [&parker, body = std::move(body)] {
      parker.Enter();
      body();
    });
  }

  // Runs them to their ends, with whatever other threads there are.
  void Join() {
    run_.Join();
    for (ModelParker& parker : parkers_) parker.CheckQuiet();
  }

  ModelParker& operator[](std::size_t i) { return parkers_[i]; }

  // A thread that cancels the i-th one.
  void StartCanceller(std::size_t i = 0) {
    run_.Thread("canceller", [this, i] { CancelParker(parkers_[i], ModelParker::kTask); });
  }

 private:
  template <std::size_t... kIndex>
  Actors(ModelRun& run, std::index_sequence<kIndex...>)
      : run_(run), parkers_{((void)kIndex, ModelParker(run))...} {}

  ModelRun& run_;
  std::array<ModelParker, kCount> parkers_;
  std::size_t started_ = 0;
};

// True if `wait` has come to its end, false if it was cancelled.
template <class F>
bool NotCancelled(F wait) {
  try {
    wait();
    return true;
  } catch (const Cancelled&) {
    return false;
  }
}

}  // namespace csp::internal

#endif  // CSP_TESTS_MODEL_MODEL_FIXTURE_H_
