// The barrier: nobody goes on before all have arrived, again and again.

#include "csp/sync/barrier.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using BarrierTest = RuntimeTest;
CSP_INSTANTIATE(BarrierTest);

constexpr auto kIgnore = [](const auto&...) {};

TEST_P(BarrierTest, NobodyGoesOnBeforeAllHaveArrived) {
  Here([] {
    constexpr int kParties = 6;
    const int phases = Rounds(200);
    Barrier barrier(kParties);
    std::atomic<int> arrived{0}, lasts{0};
    const auto party = [&](int me) {
      for (int phase = 0; phase < phases; ++phase) {
        ++arrived;
        switch ((phase + me) % 3) {
          case 0:
            if (barrier.ArriveAndWait()) ++lasts;
            break;
          case 1:
            barrier.Wait(barrier.Arrive());
            break;
          default: {
            const Barrier::Phase current = barrier.Arrive();
            Select(
                barrier.OnWait(current), OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
          }
        }
        ASSERT_GE(arrived.load(), (phase + 1) * kParties);
      }
    };
    std::vector<Task<void>> tasks;
    for (int i = 0; i < kParties - 1; ++i) tasks.push_back(Go(party, i));
    std::thread thread(party, kParties - 1);
    for (auto& task : tasks) task.Join();
    thread.join();
    EXPECT_LE(lasts.load(), phases);
  });
}

TEST_P(BarrierTest, OneIsTheLastEachTime) {
  Here([] {
    const int phases = Rounds(300);
    Barrier barrier(4);
    std::atomic<int> lasts{0};
    std::vector<Task<void>> tasks;
    for (int i = 0; i < 4; ++i) {
      tasks.push_back(Go([&] {
        for (int phase = 0; phase < phases; ++phase) {
          if (barrier.ArriveAndWait()) ++lasts;
        }
      }));
    }
    for (auto& task : tasks) task.Join();
    EXPECT_EQ(lasts.load(), phases);
  });
}

TEST_P(BarrierTest, OfOneNeverWaits) {
  Here([] {
    Barrier barrier(1);
    EXPECT_TRUE(barrier.ArriveAndWait());
    EXPECT_EQ(barrier.Arrive(), 1u);
    EXPECT_TRUE(barrier.TryWait(1));
    EXPECT_FALSE(barrier.TryWait(2));
    EXPECT_FALSE(barrier.WaitFor(2, absl::ZeroDuration()));
    EXPECT_FALSE(barrier.WaitUntil(2, absl::InfinitePast()));
    EXPECT_FALSE(barrier.WaitFor(2, absl::Microseconds(50)));
    EXPECT_TRUE(barrier.WaitFor(1, absl::ZeroDuration()));
    bool none = false;
    Select(
        barrier.OnWait(2) >> [] { ADD_FAILURE(); }, Default >> [&] { none = true; });
    EXPECT_TRUE(none);
  });
}

TEST_P(BarrierTest, DroppedPartiesDoNotCount) {
  Here([] {
    Barrier barrier(3);
    barrier.ArriveAndDrop();
    EXPECT_EQ(barrier.Arrive(), 0u);
    EXPECT_TRUE(barrier.ArriveAndWait());
    Task<void> other = Go([&] { (void)barrier.ArriveAndWait(); });
    (void)barrier.ArriveAndWait();
    other.Join();
    const Barrier::Phase phase = barrier.Arrive();
    EXPECT_FALSE(barrier.TryWait(phase));
    barrier.ArriveAndDrop();  // the last that this phase waits for
    EXPECT_TRUE(barrier.TryWait(phase));
    EXPECT_TRUE(barrier.ArriveAndWait());
    barrier.ArriveAndDrop();
    EXPECT_THROW((void)barrier.ArriveAndWait(), SyncError);
    EXPECT_THROW((void)barrier.Arrive(), SyncError);
    EXPECT_THROW(barrier.ArriveAndDrop(), SyncError);
  });
}

// Whoever is cancelled before the phase ends has not arrived: the others still wait for one more.
TEST_P(BarrierTest, ACancelledArrivalIsTakenBack) {
  Here([] {
    for (int round = 0; round < Rounds(300); ++round) {
      Barrier barrier(3);
      std::atomic<int> passed{0};
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 2; ++i) {
        tasks.push_back(Go([&] {
          (void)barrier.ArriveAndWait();
          ++passed;
        }));
      }
      for (int i = 0; i < round % 20; ++i) Yield();
      tasks[0].Cancel();
      Task<void> third = Go([&] { (void)barrier.ArriveAndWait(); });
      bool cancelled = false;
      try {
        tasks[0].Join();
      } catch (const TaskCancelled&) {
        cancelled = true;
      }
      if (cancelled) {
        for (int i = 0; i < 5; ++i) Yield();
        ASSERT_EQ(passed.load(), 0);
        (void)barrier.Arrive();
      }
      tasks[1].Join();
      third.Join();
      EXPECT_EQ(passed.load(), cancelled ? 1 : 2);
      EXPECT_TRUE(barrier.TryWait(0));
      EXPECT_FALSE(barrier.TryWait(1));
    }
  });
}

TEST_P(BarrierTest, ALostWaitLeavesNothing) {
  Here([] {
    Barrier barrier(2);
    auto quit = MakeChan<int>();
    const Barrier::Phase phase = barrier.Arrive();
    for (int round = 0; round < Rounds(100); ++round) {
      Task<void> loser = Go([&] {
        Select(
            barrier.OnWait(phase) >> [] { ADD_FAILURE(); }, quit.OnRecv() >> kIgnore);
      });
      Task<void> cancelled = Go([&] { barrier.Wait(phase); });
      quit.Send(1);
      loser.Join();
      cancelled.Cancel();
      EXPECT_THROW(cancelled.Join(), TaskCancelled);
      EXPECT_FALSE(barrier.WaitFor(phase, absl::Microseconds(5)));
    }
    (void)barrier.Arrive();
    barrier.Wait(phase);
  });
}

TEST_P(BarrierTest, MayBeDestroyedByWhomItWoke) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto barrier = std::make_unique<Barrier>(2);
      Task<void> other = Go([raw = barrier.get()] { (void)raw->Arrive(); });
      if (round % 2 == 0) {
        (void)barrier->ArriveAndWait();
      } else {
        barrier->Wait(barrier->Arrive());
      }
      barrier.reset();
      other.Join();
    }
  });
}

TEST_P(BarrierTest, Misuse) {
  Here([] {
    EXPECT_THROW(Barrier(0), InvalidArgument);
    EXPECT_THROW(Barrier(-3), InvalidArgument);
    Barrier barrier(2);
    EXPECT_THROW(barrier.Wait(1), SyncError);
    EXPECT_THROW((void)barrier.TryWait(7), SyncError);
    try {
      (void)barrier.OnWait(3);
      ADD_FAILURE();
    } catch (const Panic& e) {
      EXPECT_NE(std::string(e.what()).find("Barrier::Wait"), std::string::npos) << e.what();
    }
  });
}

}  // namespace
}  // namespace csp
