#include "csp/sched/parker.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "csp/sched/internal/fiber.h"
#include "csp/sched/internal/thread_record.h"
#include "csp/task/go.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp::internal {
namespace {

constexpr ParkReason kReason{"Park", "test"};

using ParkerTest = RuntimeTest;
CSP_INSTANTIATE(ParkerTest);

TEST_P(ParkerTest, IsTheCallersAndStays) {
  Here([this] {
    Parker* self = Parker::Current();
    EXPECT_EQ(self->kind(), on_plain_thread() ? Parker::Kind::kThread : Parker::Kind::kFiber);
    for (int i = 0; i < 10; ++i) {
      Yield();
      SleepFor(absl::Microseconds(10));
      EXPECT_EQ(Parker::Current(), self);
    }
    Go([self] { EXPECT_NE(Parker::Current(), self); }).Join();
  });
}

TEST_P(ParkerTest, UnparkMayComeFirst) {
  Here([] {
    Parker* self = Parker::Current();
    for (int i = 0; i < 100; ++i) {
      self->Unpark();
      self->Park(kReason, nullptr);
    }
  });
}

TEST_P(ParkerTest, ParkWaitsForUnpark) {
  Here([] {
    int plain = 0;
    Parker* self = Parker::Current();
    for (int i = 1; i <= Rounds(2000); ++i) {
      Go([&plain, self, i] {
        plain = i;  // visible behind Park
        self->Unpark();
      });
      self->Park(kReason, nullptr);
      ASSERT_EQ(plain, i);
    }
  });
}

TEST_P(ParkerTest, ItsNoteSaysWhyItWaits) {
  Here([] {
    Parker* self = Parker::Current();
    const int object = 0;
    Task<void> other = Go([&] {
      while (self->note.reason.load() == nullptr) Yield();
      EXPECT_EQ(self->note.reason.load(), &kReason);
      EXPECT_EQ(self->note.object.load(), &object);
      self->Unpark();
    });
    self->Park(kReason, &object);
    EXPECT_EQ(self->note.reason.load(), nullptr);
    other.Join();
  });
}

TEST(ThreadRecordTest, ThreadsThatHaveEndedLeaveTheirsToOthers) {
  std::set<const void*> records;
  for (int i = 0; i < 200; ++i) {
    std::thread([&] { records.insert(Parker::Current()); }).join();
  }
  EXPECT_LE(records.size(), 3U);
}

TEST(ThreadRecordTest, EachThreadHasItsOwn) {
  constexpr int kThreads = 8;
  std::atomic<Parker*> parkers[kThreads] = {};
  std::atomic<int> there{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      parkers[i] = Parker::Current();
      ++there;
      while (there < kThreads) std::this_thread::yield();
      Parker::Current()->Park(kReason, nullptr);
      EXPECT_EQ(Parker::Current(), parkers[i].load());
    });
  }
  while (there < kThreads) std::this_thread::yield();
  std::set<Parker*> different;
  for (std::atomic<Parker*>& parker : parkers) {
    EXPECT_TRUE(different.insert(parker.load()).second);
    parker.load()->Unpark();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace csp::internal
