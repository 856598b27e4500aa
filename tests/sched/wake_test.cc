// No wake-up is lost, wherever it comes from and however the sleeper is on its way to sleep.
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/sched/parker.h"
#include "csp/select/event.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using WakeTest = RuntimeTest;
CSP_INSTANTIATE(WakeTest);

void Spin(int turns) {
  for (int i = 0; i < turns; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

// B9: a plain thread gives one thing to do and waits for it, while the workers fall asleep.
TEST_P(WakeTest, APlainThreadSubmitsOneAtATime) {
  Here([] {
    Chan<int> in = MakeChan<int>();
    Chan<int> out = MakeChan<int>();
    Task<void> echo = Go([=] {
      for (int i : in) out.Send(int{i});
    });
    Blocking([=] {  // on a plain thread
      std::mt19937 random(1);
      for (int i = 0; i < Rounds(4'000); ++i) {
        in.Send(int{i});
        ASSERT_EQ(out.Recv(), i);
        if (i % 64 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
        } else {
          Spin(static_cast<int>(random() % 3000));
        }
      }
      in.Close();
    });
    echo.Join();
  });
}

TEST(WakeTest, APlainThreadStartsOneTaskAtATime) {
  const Watchdog watchdog;
  std::mt19937 random(2);
  for (int i = 0; i < Rounds(4'000); ++i) {
    ASSERT_EQ(Go([i] { return i; }).Join(), i);
    Spin(static_cast<int>(random() % 3000));
  }
}

// Several foreign threads, several waiters, naps of every length in between.
TEST_P(WakeTest, ManyForeignThreads) {
  Here([] {
    constexpr int kThreads = 3;
    std::atomic<int> sum{0};
    Chan<int> in = MakeChan<int>();
    std::vector<Task<void>> receivers;
    for (int i = 0; i < 3; ++i) {
      receivers.push_back(Go([&sum, in] {
        for (int v : in) sum += v;
      }));
    }
    std::vector<Task<void>> threads;
    for (int k = 0; k < kThreads; ++k) {
      threads.push_back(BlockingDetached([in, k] {
        std::mt19937 random(k);
        for (int i = 0; i < Rounds(3'000); ++i) {
          in.Send(1);
          Spin(static_cast<int>(random() % 10'000));
        }
      }));
    }
    for (Task<void>& thread : threads) thread.Join();
    in.Close();
    for (Task<void>& receiver : receivers) receiver.Join();
    EXPECT_EQ(sum, kThreads * Rounds(3'000));
  });
}

// B5: the waker runs between the publishing of the wait and the suspension.
TEST_P(WakeTest, UnparkMayComeBeforePark) {
  Here([] {
    static constexpr ParkReason kReason{"Park", "test"};
    std::atomic<internal::Parker*> handed{nullptr};
    std::atomic<bool> over{false};
    std::thread waker([&] {
      while (!over) {
        if (internal::Parker* parker = handed.exchange(nullptr)) parker->Unpark();
      }
    });
    std::mt19937 random(3);
    for (int i = 0; i < Rounds(50'000); ++i) {
      handed = internal::Parker::Current();
      Spin(static_cast<int>(random() % 100));
      internal::Parker::Current()->Park(kReason, nullptr);
    }
    over = true;
    waker.join();
  });
}

// The same among fibers, with the parker's worker changing all the time.
TEST_P(WakeTest, FibersWakeEachOtherAcrossWorkers) {
  Here([] {
    constexpr int kRing = 6;
    std::vector<Chan<int>> ring;
    for (int i = 0; i <= kRing; ++i) ring.push_back(MakeChan<int>());
    std::vector<Task<void>> tasks;
    const int rounds = Rounds(4'000);
    for (int i = 0; i < kRing; ++i) {
      tasks.push_back(Go([in = ring[i], out = ring[i + 1], i] {
        std::mt19937 random(i);
        for (int v : in) {
          Spin(static_cast<int>(random() % 500));
          out.Send(v + 1);
        }
      }));
    }
    for (int i = 0; i < rounds; ++i) {
      ring[0].Send(0);
      EXPECT_EQ(ring[kRing].Recv(), kRing);
    }
    for (Chan<int>& ch : ring) ch.Close();
    for (Task<void>& task : tasks) task.Join();
  });
}

// Run after Run: the last wake, from a foreign thread, may be followed at once by the end of the
// runtime that it went to.
TEST(WakeTest, TheLastWakeMayBeTheEndOfTheRuntime) {
  const Watchdog watchdog;
  Chan<int> ch = MakeChan<int>();
  const int rounds = Rounds(1'500);
  std::thread sender([&] {
    for (int i = 0; i < rounds; ++i) ch.Send(int{i});
  });
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(csp::Run([&] { return *ch.Recv(); }, {.workers = 1 + i % 2}), i);
  }
  sender.join();
}

}  // namespace
}  // namespace csp
