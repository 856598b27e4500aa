// Waiting allocates nothing, in whatever form, and leaves no timer.

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace {

std::atomic<long> allocations{0};

void* Allocate(std::size_t size, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  size = (size + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, size > 0 ? size : alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// All the forms that the library's defaults do not forward to these.
void* operator new(std::size_t size) { return Allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace csp {
namespace {

const int kRounds = Rounds(2'000);

// What the runtime allocates once: its threads as they begin, the heap of timers when it doubles.
constexpr long kOnce = 40;

using AllocTest = RuntimeTest;
CSP_INSTANTIATE(AllocTest);

// Two fibers that wait for each other all the time; the partner is given the number of rounds
// twice, since the first half warms up what is warmed up once.
template <class Mine, class Its>
void ExpectNoAllocations(Mine mine, Its its) {
  Task<void> partner = Go([&] {
    for (int i = 0; i < 2 * kRounds; ++i) its(i);
  });
  for (int i = 0; i < kRounds; ++i) mine(i);
  const long before = allocations.load();
  for (int i = kRounds; i < 2 * kRounds; ++i) mine(i);
  EXPECT_LE(allocations.load() - before, kOnce) << "in " << kRounds << " rounds";
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
