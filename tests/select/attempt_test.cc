// One wait: a claim by one, the wake that follows, and claims that come too late.

#include "csp/select/attempt.h"

#include <atomic>
#include <vector>

#include "csp/base/spinlock.h"
#include "csp/csp.h"
#include "csp/sched/yield.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp::internal {
namespace {

constexpr ParkReason kReason{"Await", "test"};

using AttemptTest = RuntimeTest;
CSP_INSTANTIATE(AttemptTest);

TEST_P(AttemptTest, IsClaimedOnce) {
  Here([] {
    Parker* self = Parker::Current();
    Attempt attempt(self);
    ASSERT_TRUE(attempt.Begin(false));
    EXPECT_TRUE(attempt.pending());
    EXPECT_TRUE(Attempt::Claim(self, attempt.pending_word(), 5));
    EXPECT_FALSE(attempt.pending());
    EXPECT_FALSE(Attempt::Claim(self, attempt.pending_word(), 6));
    EXPECT_FALSE(attempt.Abort());
    self->Unpark();  // may come before the wait
    EXPECT_EQ(attempt.Await(kReason, nullptr), 5);
  });
}

TEST_P(AttemptTest, CarriesEveryIndex) {
  Here([] {
    Parker* self = Parker::Current();
    for (int index : {0, 1, 63, 1000, Attempt::kAborted - 1, Attempt::kCancelled}) {
      Attempt attempt(self);
      ASSERT_TRUE(attempt.Begin(false));
      ASSERT_TRUE(Attempt::Claim(self, attempt.pending_word(), index));
      self->Unpark();
      EXPECT_EQ(attempt.Await(kReason, nullptr), index);
    }
  });
}

TEST_P(AttemptTest, GivenUpIsNobodysAnyMore) {
  Here([] {
    Parker* self = Parker::Current();
    Attempt attempt(self);
    ASSERT_TRUE(attempt.Begin(false));
    EXPECT_TRUE(attempt.Abort());
    EXPECT_FALSE(attempt.pending());
    EXPECT_FALSE(Attempt::Claim(self, attempt.pending_word(), 1));
    EXPECT_FALSE(attempt.Abort());
  });
}

TEST_P(AttemptTest, StaleClaimsFail) {
  Here([] {
    Parker* self = Parker::Current();
    std::vector<std::uint64_t> stale;
    for (int i = 0; i < 100; ++i) {
      Attempt attempt(self);
      ASSERT_TRUE(attempt.Begin(i % 2 != 0));
      for (std::uint64_t word : stale) ASSERT_FALSE(Attempt::Claim(self, word, 1));
      ASSERT_TRUE(attempt.pending());
      stale.push_back(attempt.pending_word());
      ASSERT_TRUE(attempt.Abort());
    }
  });
}

TEST_P(AttemptTest, OnlyAnUnshieldedOneIsCancellable) {
  Here([] {
    Parker* self = Parker::Current();
    Attempt attempt(self);
    ASSERT_TRUE(attempt.Begin(false));
    EXPECT_TRUE(Attempt::IsCancellable(attempt.pending_word()));
    ASSERT_TRUE(attempt.Abort());
    EXPECT_FALSE(Attempt::IsCancellable(self->words.attempt.load()));
    Attempt shielded(self);
    ASSERT_TRUE(shielded.Begin(true));
    EXPECT_FALSE(Attempt::IsCancellable(shielded.pending_word()));
    ASSERT_TRUE(shielded.Abort());
  });
}

// Several claimers, and the waiter itself, which may give up: one of them gets it, and who does
// knows.
TEST_P(AttemptTest, OneClaimerWins) {
  Here([this] {
    constexpr int kClaimers = 3;
    struct Shared {
      std::atomic<std::uint64_t> pending{0};
      std::atomic<int> round{0};
      std::atomic<int> over{0};
      std::atomic<int> won{0};
      Parker* waiter = Parker::Current();
    } shared;
    // All spin: with more workers than processors a round takes as long as the kernel's turns.
    const int rounds = Rounds(workers() == 1 ? 2'000 : 100);
    std::vector<Task<void>> claimers;
    for (int index = 0; index < kClaimers; ++index) {
      claimers.push_back(Go([&shared, index, rounds] {
        for (int round = 1; round <= rounds; ++round) {
          while (shared.round.load() < round) Yield();
          if (Attempt::Claim(shared.waiter, shared.pending.load(), index)) {
            ++shared.won;
            shared.waiter->Unpark();
          }
          ++shared.over;
        }
      }));
    }
    int given_up = 0;
    for (int round = 1; round <= rounds; ++round) {
      Attempt attempt(shared.waiter);
      ASSERT_TRUE(attempt.Begin(false));
      shared.pending = attempt.pending_word();
      shared.round = round;
      // No Yield from Begin to Await: an early wake is a place in the run queue.
      for (int i = 0; i < round % 256; ++i) CpuRelax();
      if (round % 2 == 0 && attempt.Abort()) {
        ++given_up;
      } else {
        const int index = attempt.Await(kReason, nullptr);
        ASSERT_GE(index, 0);
        ASSERT_LT(index, kClaimers);
      }
      while (shared.over.load() < round * kClaimers) Yield();
      ASSERT_EQ(shared.won.load() + given_up, round);
    }
    for (auto& claimer : claimers) claimer.Join();
  });
}

// --- Cancellation as a claimer.

TEST_P(AttemptTest, ACancellerEndsTheWait) {
  Here([] {
    std::atomic<bool> waits{false};
    Task<int> waiter = Go([&waits] {
      Attempt attempt(Parker::Current());
      EXPECT_TRUE(attempt.Begin(false));
      waits = true;
      return attempt.Await(kReason, nullptr);
    });
    while (!waits.load()) Yield();
    waiter.Cancel();
    EXPECT_EQ(waiter.Join(), Attempt::kCancelled);
  });
}

TEST_P(AttemptTest, InACancelledTaskNothingIsPublished) {
  Here([] {
    std::atomic<bool> begun{false};
    std::atomic<bool> cancelled{false};
    Task<void> task = Go([&] {
      begun = true;
      while (!cancelled.load()) YieldNow();
      Attempt attempt(Parker::Current());
      EXPECT_FALSE(attempt.Begin(false));
      EXPECT_FALSE(attempt.pending());
      Attempt shielded(Parker::Current());
      EXPECT_TRUE(shielded.Begin(true));
      EXPECT_TRUE(shielded.Abort());
    });
    while (!begun.load()) Yield();
    task.Cancel();
    cancelled = true;
    task.Join();
  });
}

// The flag and the word: a canceller and a wait that begins see one another, however close. (A
// lost one would wait for ever.)
TEST_P(AttemptTest, BeginAgainstCancelLosesNoWake) {
  Here([] {
    auto never = MakeChan<int>();
    for (int round = 0; round < Rounds(2'000); ++round) {
      std::atomic<bool> begun{false};
      Task<void> task = Go([&begun, never, round] {
        begun = true;
        for (int i = 0; i < round % 4; ++i) YieldNow();
        switch (round % 3) {
          case 0:
            (void)never.Recv();
            break;
          case 1:
            never.Send(1);
            break;
          default:
            Select(never.OnRecv());
        }
      });
      while (!begun.load()) Yield();
      for (int i = 0; i < round % 5; ++i) Yield();
      task.Cancel();
      EXPECT_THROW(task.Join(), TaskCancelled);
    }
  });
}

}  // namespace
}  // namespace csp::internal
