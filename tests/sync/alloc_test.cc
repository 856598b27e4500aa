// Waiting allocates nothing, in whatever form, and leaves no timer.

#include <mutex>
#include <shared_mutex>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

const int kRounds = Rounds(2'000);

using AllocTest = RuntimeTest;
CSP_INSTANTIATE(AllocTest);

// Two fibers that wait for each other all the time; the partner is given the number of rounds
// twice, since the first half warms up what is warmed up once.
template <class Mine, class Its>
void ExpectNoAllocations(Mine mine, Its its) {
  StartEveryWorker();
  Task<void> partner = Go([&] {
    for (int i = 0; i < 2 * kRounds; ++i) its(i);
  });
  for (int i = 0; i < kRounds; ++i) mine(i);
  const long before = Allocations();
  for (int i = kRounds; i < 2 * kRounds; ++i) mine(i);
  EXPECT_LE(Allocations() - before, kAllocatedOnce) << "in " << kRounds << " rounds";
  partner.Join();
}

TEST_P(AllocTest, Locks) {
  Here([] {
    Mutex mu;
    RWMutex rw;
    const auto lock = [&](int i) {
      switch (i % 5) {
        case 0: {
          const MutexLock held(mu);
          Yield();
          break;
        }
        case 1: {
          const std::unique_lock<Mutex> held = Select(mu.OnLock());
          Yield();
          break;
        }
        case 2:
          if (!mu.try_lock_for(absl::Microseconds(50))) break;
          mu.unlock();
          break;
        case 3: {
          const WriterLock held(rw);
          Yield();
          break;
        }
        default: {
          const std::shared_lock<RWMutex> held = Select(rw.OnRLock());
          Yield();
        }
      }
    };
    ExpectNoAllocations(lock, lock);
  });
}

TEST_P(AllocTest, CondVar) {
  Here([] {
    Mutex mu;
    csp::CondVar cv;
    int turn = 0;
    const auto take_turns = [&](int me) {
      return [&, me](int i) {
        const MutexLock lock(mu);
        if (i % 2 == 0) {
          while (turn != me) cv.Wait(mu);
        } else {
          EXPECT_TRUE(cv.WaitFor(mu, absl::Hours(1), [&] { return turn == me; }));
        }
        turn = 1 - me;
        cv.NotifyOne();
      };
    };
    ExpectNoAllocations(take_turns(0), take_turns(1));
  });
}

TEST_P(AllocTest, SemaphoresAndEvents) {
  Here([] {
    Semaphore ping(1, 0);
    AutoResetEvent pong;
    ExpectNoAllocations(
        [&](int i) {
          ping.Release();
          if (i % 2 == 0) {
            pong.Wait();
          } else {
            Select(
                pong.OnWait(), OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
          }
        },
        [&](int i) {
          if (i % 2 == 0) {
            ping.Acquire();
          } else {
            EXPECT_TRUE(ping.AcquireFor(absl::Hours(1)));
          }
          pong.Set();
        });
  });
}

TEST_P(AllocTest, BarriersAndGroups) {
  Here([] {
    Barrier barrier(2);
    WaitGroup group;
    const auto meet = [&](int i) {
      if (i % 2 == 0) {
        (void)barrier.ArriveAndWait();
      } else {
        barrier.Wait(barrier.Arrive());
      }
    };
    ExpectNoAllocations(
        [&](int i) {
          group.Add(1);
          meet(i);
          group.Wait();
          meet(i);
        },
        [&](int i) {
          meet(i);
          group.Done();
          meet(i);
        });
  });
}

TEST_P(AllocTest, Once) {
  Here([] {
    csp::Once once;
    const auto call = [&](int) { once.Call([] { Yield(); }); };
    ExpectNoAllocations(call, call);
  });
}

}  // namespace
}  // namespace csp
