// CancelSource: who is the first, what a tree passes on, and what is left of it.
#include "csp/cancel/cancel_source.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "csp/cancel/cancel_callback.h"
#include "csp/task/go.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using CancelSourceTest = RuntimeTest;
CSP_INSTANTIATE(CancelSourceTest);

TEST(CancelSourcePlainTest, TheFirstCancelStands) {
  const CancelSource source;
  EXPECT_FALSE(source.cancelled());
  EXPECT_TRUE(source.token().cause().ok());
  EXPECT_TRUE(source.Cancel(absl::AbortedError("first")));
  EXPECT_FALSE(source.Cancel(absl::InternalError("second")));
  EXPECT_TRUE(source.cancelled());
  EXPECT_EQ(source.token().cause(), absl::AbortedError("first"));
}

TEST(CancelSourcePlainTest, OkIsNoCause) {
  const CancelSource source;
  EXPECT_TRUE(source.Cancel(absl::OkStatus()));
  EXPECT_TRUE(absl::IsCancelled(source.token().cause()));
}

TEST(CancelSourcePlainTest, GoesDownAndNotUp) {
  const CancelSource root;
  const CancelSource left(root.token());
  const CancelSource right(root.token());
  const CancelSource below(left.token());
  EXPECT_TRUE(left.Cancel(absl::AbortedError("left")));
  EXPECT_TRUE(below.cancelled());
  EXPECT_EQ(below.token().cause(), absl::AbortedError("left"));
  EXPECT_FALSE(root.cancelled());
  EXPECT_FALSE(right.cancelled());
  EXPECT_TRUE(root.Cancel());
  EXPECT_TRUE(right.cancelled());
  EXPECT_EQ(below.token().cause(), absl::AbortedError("left"));
}

TEST(CancelSourcePlainTest, AChildOfWhatIsCancelledIsCancelled) {
  const CancelSource root;
  root.Cancel(absl::AbortedError("root"));
  const CancelSource child(root.token());
  EXPECT_TRUE(child.cancelled());
  EXPECT_EQ(child.token().cause(), absl::AbortedError("root"));
  EXPECT_FALSE(child.Cancel());
}

// What lies in between may have been dropped: its children and tokens follow all the same.
TEST(CancelSourcePlainTest, ADroppedSourceCancelsNothingAndPassesOn) {
  const CancelSource root;
  CancelToken token;
  std::unique_ptr<CancelSource> leaf;
  {
    const CancelSource middle(root.token());
    token = middle.token();
    leaf = std::make_unique<CancelSource>(middle.token());
  }
  EXPECT_FALSE(token.cancelled());
  root.Cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_TRUE(leaf->cancelled());
}

TEST(CancelSourcePlainTest, MovesAndIsEmptyThen) {
  CancelSource source;
  const CancelToken token = source.token();
  const CancelSource other = std::move(source);
  EXPECT_FALSE(source.Cancel());  // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(source.token().can_be_cancelled());
  EXPECT_TRUE(other.Cancel());
  EXPECT_TRUE(token.cancelled());
}

// Fibers' stacks are small, and neither the way down nor the end of a chain recurses.
TEST_P(CancelSourceTest, AChainMayBeDeep) {
  Here([] {
    constexpr int kDepth = 100'000;
    Go([] {
      for (const bool drop_root_first : {true, false}) {
        std::vector<CancelSource> chain;
        chain.emplace_back();
        for (int i = 1; i < kDepth; ++i) chain.emplace_back(chain.back().token());
        const CancelToken last = chain.back().token();
        if (drop_root_first) {
          EXPECT_TRUE(chain.front().Cancel(absl::AbortedError("root")));
          EXPECT_EQ(last.cause(), absl::AbortedError("root"));
        }
        chain.clear();
      }
      // The last token alone keeps all that is above it, and lets it go at once.
      auto source = std::make_unique<CancelSource>();
      for (int i = 1; i < kDepth; ++i) source = std::make_unique<CancelSource>(source->token());
    }).Join();
  });
}

TEST_P(CancelSourceTest, ATreeMayBeBroad) {
  Here([] {
    const CancelSource root;
    std::vector<CancelSource> children;
    for (int i = 0; i < 1000; ++i) children.emplace_back(root.token());
    // From the head, the middle and the tail of the list.
    children.erase(children.begin());
    children.erase(children.begin() + 500);
    children.pop_back();
    EXPECT_TRUE(root.Cancel());
    for (const CancelSource& child : children) EXPECT_TRUE(child.cancelled());
  });
}

// Of many who cancel at once one is the first, and the whole tree has its cause.
TEST_P(CancelSourceTest, OneIsTheFirst) {
  Here([] {
    for (int round = 0; round < Rounds(300); ++round) {
      const CancelSource root;
      const CancelSource child(root.token());
      std::atomic<int> first{-1};
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 3; ++i) {
        tasks.push_back(Go([&, i] {
          if (root.Cancel(absl::AbortedError(std::to_string(i)))) {
            EXPECT_EQ(first.exchange(i), -1);
            EXPECT_TRUE(child.cancelled());
          }
        }));
      }
      for (Task<void>& task : tasks) task.Join();
      EXPECT_EQ(root.token().cause(), absl::AbortedError(std::to_string(first)));
      EXPECT_EQ(child.token().cause(), root.token().cause());
    }
  });
}

// Nodes come and go below a root that is being cancelled: each is cancelled in the end.
TEST_P(CancelSourceTest, ChildrenComeAndGoMeanwhile) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      const CancelSource root;
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 3; ++i) {
        tasks.push_back(Go([&] {
          bool was_cancelled = false;
          while (!was_cancelled) {
            const CancelSource child(root.token());
            const CancelSource grandchild(child.token());
            Yield();
            was_cancelled = root.cancelled();
            const Task<void> in_between = Go([token = grandchild.token()] {});
          }
          EXPECT_TRUE(CancelSource(root.token()).cancelled());
        }));
      }
      for (int i = 0; i < round % 7; ++i) Yield();
      root.Cancel();
      for (Task<void>& task : tasks) task.Join();
    }
  });
}

}  // namespace
}  // namespace csp
