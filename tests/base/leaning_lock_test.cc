// On the machine; what must hold in every interleaving is in tests/model.
#include "csp/base/leaning_lock.h"

#include <array>
#include <mutex>
#include <thread>
#include <vector>

#include "csp/base/thread_context.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

// A thread with a record, as a worker's is.
class WorkerThread {
 public:
  template <class F>
  explicit WorkerThread(F f)
      : thread_([f] {
          AcquireLeanRecord();
          f();
          ReleaseLeanRecord();
        }) {}
  ~WorkerThread() { thread_.join(); }

 private:
  std::thread thread_;
};

constexpr int kLong = 20'000;  // sections in a row: enough to lean, several times over

TEST(LeaningLockTest, WorksWithoutARecord) {
  LeaningLock lock;
  for (int i = 0; i < kLong; ++i) const std::lock_guard guard(lock);
  EXPECT_EQ(CurrentThread()->lean, nullptr);
}

// It leans to one thread, and is straightened by another, again and again.
TEST(LeaningLockTest, SectionsExcludeEachOther) {
  LeaningLock lock;
  int counter = 0;  // TSan, too, watches this one
  {
    WorkerThread favourite([&] {
      for (int i = 0; i < 10 * kLong; ++i) {
        const std::lock_guard guard(lock);
        ++counter;
      }
    });
    std::thread foreign([&] {
      for (int i = 0; i < 100; ++i) {
        {
          const std::lock_guard guard(lock);
          ++counter;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    foreign.join();
  }
  EXPECT_EQ(counter, 10 * kLong + 100);
}

TEST(LeaningLockTest, TwoFavouritesTakeTurns) {
  std::array<LeaningLock, 2> locks;
  std::array<int, 2> counters{};
  const auto work = [&](int first) {
    for (int turn = 0; turn < 4; ++turn) {
      const int i = (first + turn) % 2;
      for (int k = 0; k < kLong; ++k) {
        const std::lock_guard guard(locks[i]);
        ++counters[i];
      }
    }
  };
  {
    WorkerThread one([&] { work(0); });
    WorkerThread other([&] { work(1); });
  }
  EXPECT_EQ(counters[0], 4 * kLong);
  EXPECT_EQ(counters[1], 4 * kLong);
}

// A lock may lean to a thread that is gone; whoever takes its record over inherits the favour.
TEST(LeaningLockTest, TheFavouriteMayEnd) {
  LeaningLock lock;
  int counter = 0;
  for (int i = 0; i < 3; ++i) {
    WorkerThread favourite([&] {
      for (int k = 0; k < kLong; ++k) {
        const std::lock_guard guard(lock);
        ++counter;
      }
    });
  }
  const std::lock_guard guard(lock);
  EXPECT_EQ(counter, 3 * kLong);
}

TEST(LeaningLockTest, RecordsAreTakenOver) {
  LeanRecord* record = nullptr;
  WorkerThread([&] { record = CurrentThread()->lean; });
  ASSERT_NE(record, nullptr);
  WorkerThread([&] { EXPECT_EQ(CurrentThread()->lean, record); });
}

TEST(LeaningLockTest, HoldReleasesOnceAndEarlyIfAsked) {
  LeaningLock lock;
  {
    LeaningLock::Hold hold(lock, CurrentThread());
    hold.Release();
    const std::lock_guard guard(lock);
  }
  { const LeaningLock::Hold hold(lock, CurrentThread()); }
  const std::lock_guard guard(lock);
}

}  // namespace
}  // namespace csp::internal
