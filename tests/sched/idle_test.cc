#include "csp/sched/internal/idle.h"

#include "gtest/gtest.h"

// One thread plays all parts here; the interleavings are the model tests' matter.
namespace csp::internal {
namespace {

TEST(IdleTest, TheFirstWatchesTheOthersPark) {
  Idle idle;
  Idle::Seat a;
  Idle::Seat b;
  Idle::Seat c;
  EXPECT_TRUE(idle.WatchOrPark(a));
  EXPECT_FALSE(idle.WatchOrPark(b));
  EXPECT_FALSE(idle.WatchOrPark(c));
  EXPECT_EQ(idle.count(), 3U);
  EXPECT_EQ(idle.Resign(), &c);  // the one parked last
  EXPECT_EQ(idle.count(), 2U);
  idle.Unparked();
  EXPECT_TRUE(idle.WatchOrPark(c));
  EXPECT_EQ(idle.Resign(), &b);
  idle.Unparked();
  EXPECT_EQ(idle.count(), 0U);
  EXPECT_TRUE(idle.WatchOrPark(b));
  EXPECT_EQ(idle.Resign(), nullptr);
}

TEST(IdleTest, WhoIsWokenByWhat) {
  Idle idle;
  Idle::Seat seat;
  ASSERT_TRUE(idle.WatchOrPark(seat));
  EXPECT_FALSE(idle.WakeAfterLocalPush());
  EXPECT_FALSE(idle.WakeAfterForeignPush());

  idle.Announce(Idle::kNapping);
  EXPECT_FALSE(idle.WakeAfterLocalPush());
  EXPECT_TRUE(idle.WakeAfterForeignPush());
  EXPECT_FALSE(idle.WakeAfterForeignPush());  // once
  EXPECT_TRUE(idle.roused());
  EXPECT_TRUE(idle.Wake());

  idle.Announce(Idle::kSleeping);
  EXPECT_TRUE(idle.WakeAfterLocalPush());
  EXPECT_FALSE(idle.WakeAfterLocalPush());
  EXPECT_TRUE(idle.Wake());

  idle.Announce(Idle::kSleeping);
  EXPECT_FALSE(idle.Wake());  // by itself
}

TEST(IdleTest, OnlyAnEarlierTimerWakesASleeper) {
  Idle idle;
  Idle::Seat seat;
  ASSERT_TRUE(idle.WatchOrPark(seat));
  idle.NoteUntil(100);
  idle.Announce(Idle::kNapping);
  EXPECT_FALSE(idle.WakeForTimer(50));
  idle.NoteUntil(100);
  idle.Announce(Idle::kSleeping);
  EXPECT_FALSE(idle.WakeForTimer(100));
  EXPECT_TRUE(idle.WakeForTimer(99));
  EXPECT_FALSE(idle.WakeForTimer(98));  // it looks at all timers anyway
}

TEST(IdleTest, ASummonsFindsItsWorker) {
  Idle idle;
  Idle::Seat watcher;
  Idle::Seat parked;
  Idle::Seat busy;
  ASSERT_TRUE(idle.WatchOrPark(watcher));
  ASSERT_FALSE(idle.WatchOrPark(parked));
  EXPECT_EQ(idle.Summon(busy), Idle::Summons::kNone);
  EXPECT_EQ(idle.Summon(parked), Idle::Summons::kCall);
  EXPECT_EQ(idle.Summon(parked), Idle::Summons::kNone);   // on its way
  EXPECT_EQ(idle.Summon(watcher), Idle::Summons::kNone);  // awake
  idle.Announce(Idle::kSleeping);
  EXPECT_EQ(idle.Summon(watcher), Idle::Summons::kBreak);
  EXPECT_EQ(idle.Summon(watcher), Idle::Summons::kNone);
}

TEST(IdleTest, AnHeirIsTakenOnlyWhereNobodyWatches) {
  Idle idle;
  Idle::Seat watcher;
  Idle::Seat first;
  Idle::Seat second;
  ASSERT_TRUE(idle.WatchOrPark(watcher));
  ASSERT_FALSE(idle.WatchOrPark(first));
  ASSERT_FALSE(idle.WatchOrPark(second));
  EXPECT_EQ(idle.TakeHeir(), nullptr);
  EXPECT_EQ(idle.Resign(), &second);
  EXPECT_EQ(idle.TakeHeir(), &first);
  EXPECT_EQ(idle.TakeHeir(), nullptr);
}

}  // namespace
}  // namespace csp::internal
