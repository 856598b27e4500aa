// Who waits for an object: first come first served, the decided ones dropped.

#include "csp/select/wait_list.h"

#include <memory>
#include <vector>

#include "csp/sched/parker.h"
#include "csp/select/attempt.h"
#include "csp/select/waiter.h"
#include "gtest/gtest.h"

namespace csp {
namespace {

using internal::Attempt;
using internal::Parker;

// An attempt of a waiter that nobody runs: its words are all that matters here.
class Wait {
 public:
  Wait() { EXPECT_TRUE(attempt_.Begin(false)); }

  void Join(WaitList& list, int index = 0) {
    waiters_.push_back(std::make_unique<Waiter>());
    waiters_.back()->Bind(attempt_, index);
    list.PushBack(*waiters_.back());
  }
  void GiveUp() { EXPECT_TRUE(attempt_.Abort()); }
  bool pending() const { return attempt_.pending(); }
  Waiter& waiter(std::size_t i = 0) { return *waiters_[i]; }
  const Parker* parker() const { return &parker_; }

 private:
  Parker parker_{Parker::Kind::kThread};
  Attempt attempt_{&parker_};
  std::vector<std::unique_ptr<Waiter>> waiters_;
};

TEST(WaitListTest, IsEmptyAtFirst) {
  WaitList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.PopClaimed(), nullptr);
  EXPECT_FALSE(list.HasRival(nullptr));
}

TEST(WaitListTest, ServesInOrder) {
  WaitList list;
  Wait a, b, c;
  a.Join(list);
  b.Join(list);
  c.Join(list);
  EXPECT_EQ(list.PopClaimed(), &a.waiter());
  EXPECT_FALSE(a.pending());
  EXPECT_FALSE(a.waiter().linked());
  EXPECT_TRUE(b.pending());
  EXPECT_EQ(list.PopClaimed(), &b.waiter());
  EXPECT_EQ(list.PopClaimed(), &c.waiter());
  EXPECT_EQ(list.PopClaimed(), nullptr);
  EXPECT_TRUE(list.empty());
}

TEST(WaitListTest, DropsTheDecided) {
  WaitList list;
  Wait a, b, c;
  a.Join(list);
  b.Join(list);
  c.Join(list);
  a.GiveUp();
  c.GiveUp();
  EXPECT_EQ(list.PopClaimed(), &b.waiter());
  EXPECT_FALSE(a.waiter().linked());
  EXPECT_TRUE(c.waiter().linked());  // was not met
  EXPECT_EQ(list.PopClaimed(), nullptr);
  EXPECT_TRUE(list.empty());
}

TEST(WaitListTest, RemovesFromAnywhereAndTwice) {
  WaitList list;
  Wait a, b, c;
  a.Join(list);
  b.Join(list);
  c.Join(list);
  list.Remove(b.waiter());
  list.Remove(b.waiter());
  list.Remove(c.waiter());
  EXPECT_EQ(list.PopClaimed(), &a.waiter());
  list.Remove(a.waiter());
  EXPECT_TRUE(list.empty());
}

// The same select in several of an object's cases: one of them is served.
TEST(WaitListTest, AWaitMayJoinTwice) {
  WaitList list;
  Wait twice, other;
  twice.Join(list, 0);
  twice.Join(list, 1);
  other.Join(list);
  EXPECT_EQ(list.PopClaimed(), &twice.waiter(0));
  EXPECT_EQ(list.PopClaimed(), &other.waiter());
  EXPECT_EQ(list.PopClaimed(), nullptr);
}

TEST(WaitListTest, RivalsAreUndecidedOthers) {
  WaitList list;
  Wait self, other;
  self.Join(list);
  EXPECT_FALSE(list.HasRival(self.parker()));
  EXPECT_TRUE(list.HasRival(other.parker()));
  other.Join(list);
  EXPECT_TRUE(list.HasRival(self.parker()));
  other.GiveUp();
  EXPECT_FALSE(list.HasRival(self.parker()));
  self.GiveUp();
  EXPECT_FALSE(list.HasRival(nullptr));
}

TEST(WakeListTest, ClaimsAllAndTellsThem) {
  WaitList list;
  Wait a, b, c;
  a.Join(list);
  b.Join(list);
  c.Join(list);
  b.GiveUp();
  WakeList wake;
  wake.Claim(list, true);
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(a.pending());
  EXPECT_FALSE(c.pending());
  EXPECT_TRUE(a.waiter().ok);
  EXPECT_FALSE(b.waiter().ok);
  EXPECT_TRUE(c.waiter().ok);
  // Claimed is decided: whoever asks the object now must not take it for one that waits.
  EXPECT_FALSE(a.waiter().linked());
  EXPECT_FALSE(c.waiter().linked());
}

}  // namespace
}  // namespace csp
