// csp/base/asymmetric's OwnedLock under every interleaving and every delay of a store.
#include "csp/base/asymmetric.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelPlain;
using csp::testing::ModelRun;

class OwnedLockModelTest : public ::testing::TestWithParam<Model::Memory> {};

// The counter is no atomic: a section that another overlaps, or does not happen before the next, is
// a data race.
Model::Result Sections(const Model::Options& options, int owners, int visitors) {
  return Model(options).Explore([=](ModelRun& run) {
    OwnedLock lock;
    ModelPlain<int> counter(0);
    run.Name(lock, "lock");
    run.Name(counter, "counter");
    run.Thread("owner", [&] {
      for (int i = 0; i < owners; ++i) {
        lock.EnterAsOwner();
        counter.Write(counter.Read() + 1);
        lock.LeaveAsOwner();
      }
    });
    for (int i = 0; i < visitors; ++i) {
      run.Thread("visitor", [&] {
        lock.EnterAsVisitor();
        counter.Write(counter.Read() + 1);
        lock.LeaveAsVisitor();
      });
    }
    run.Join();
    run.Check(counter.Read() == owners + visitors, "an update was lost");
  });
}

TEST_P(OwnedLockModelTest, OwnerAndVisitorExcludeEachOther) {
  const Model::Result result = Sections({.memory = GetParam()}, 2, 1);
  EXPECT_TRUE(result.ok) << result;
  EXPECT_GT(result.executions, 1u);
}

TEST_P(OwnedLockModelTest, VisitorsExcludeEachOther) {
  const Model::Result result = Sections({.memory = GetParam(), .max_preemptions = 4}, 1, 2);
  EXPECT_TRUE(result.ok) << result;
  EXPECT_GT(result.executions, 1u);
}

INSTANTIATE_TEST_SUITE_P(Memory, OwnedLockModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
