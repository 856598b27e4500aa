// The readers-writer mutex: one writer or many readers, in the order of coming.

#include "csp/sync/rw_mutex.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using RWMutexTest = RuntimeTest;
CSP_INSTANTIATE(RWMutexTest);

// What follows does more with locks than clang's analysis can follow.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

constexpr auto kIgnore = [](const auto&...) {};

TEST_P(RWMutexTest, OneWriterOrManyReaders) {
  Here([] {
    RWMutex mu;
    std::atomic<int> readers{0}, writers{0};
    long value = 0;
    const int rounds = Rounds(600);
    const auto work = [&](int me) {
      for (int i = 0; i < rounds; ++i) {
        const bool write = (i + me) % 4 == 0;
        if (write) {
          std::unique_lock<RWMutex> lock;
          if (i % 3 == 0) {
            lock = std::unique_lock(mu);
          } else if (i % 3 == 1) {
            lock = std::unique_lock(mu, std::chrono::hours(1));
          } else {
            lock = Select(mu.OnLock());
          }
          ASSERT_TRUE(lock.owns_lock());
          ASSERT_EQ(++writers, 1);
          ASSERT_EQ(readers.load(), 0);
          ++value;
          if (i % 16 == 0) internal::Parker::Current()->Yield(true);
          --writers;
        } else {
          std::shared_lock<RWMutex> lock;
          if (i % 3 == 0) {
            lock = std::shared_lock(mu);
          } else if (i % 3 == 1) {
            lock = std::shared_lock(mu, std::chrono::hours(1));
          } else {
            lock = Select(mu.OnRLock());
          }
          ASSERT_TRUE(lock.owns_lock());
          ++readers;
          ASSERT_EQ(writers.load(), 0);
          const long before = value;
          if (i % 16 == 0) internal::Parker::Current()->Yield(true);
          ASSERT_EQ(value, before);
          --readers;
        }
      }
    };
    std::vector<Task<void>> tasks;
    for (int t = 0; t < 6; ++t) tasks.push_back(Go(work, t));
    std::thread thread(work, 6);
    for (auto& task : tasks) task.Join();
    thread.join();
  });
}

TEST_P(RWMutexTest, ReadersAreInsideTogether) {
  Here([] {
    RWMutex mu;
    Latch all(3);
    std::vector<Task<void>> tasks;
    for (int i = 0; i < 3; ++i) {
      tasks.push_back(Go([&] {
        const ReaderLock lock(mu);
        all.ArriveAndWait();  // comes to an end only if all three are inside
      }));
    }
    for (auto& task : tasks) task.Join();
    const WriterLock lock(mu);
  });
}

TEST_P(RWMutexTest, Tries) {
  Here([] {
    RWMutex mu;
    EXPECT_TRUE(mu.try_lock());
    EXPECT_FALSE(mu.try_lock());
    EXPECT_FALSE(mu.try_lock_shared());
    EXPECT_FALSE(mu.try_lock_for(absl::ZeroDuration()));
    EXPECT_FALSE(mu.try_lock_shared_for(absl::ZeroDuration()));
    EXPECT_FALSE(mu.try_lock_until(absl::InfinitePast()));
    EXPECT_FALSE(mu.try_lock_shared_until(absl::InfinitePast()));
    EXPECT_FALSE(mu.try_lock_shared_for(std::chrono::microseconds(50)));
    bool none = false;
    Select(
        mu.OnRLock() >> [](std::shared_lock<RWMutex>) { ADD_FAILURE(); },
        mu.OnLock() >> [](std::unique_lock<RWMutex>) { ADD_FAILURE(); },
        Default >> [&] { none = true; });
    EXPECT_TRUE(none);
    mu.unlock();
    EXPECT_TRUE(mu.try_lock_shared());
    EXPECT_TRUE(mu.try_lock_shared_for(absl::ZeroDuration()));
    EXPECT_FALSE(mu.try_lock());
    EXPECT_FALSE(mu.try_lock_for(std::chrono::microseconds(50)));
    mu.unlock_shared();
    mu.unlock_shared();
    EXPECT_TRUE(mu.try_lock_for(absl::ZeroDuration()));
    mu.unlock();
  });
}

// Readers that overlap for ever: the writer's turn comes after those that were there before him.
// Counted in turns.
TEST(RWMutexFairnessTest, AWriterIsNotStarved) {
  RunAt(Place{1}, [] {
    RWMutex mu;
    bool done = false;
    long turns = 0;
    std::vector<Task<void>> readers;
    constexpr int kReaders = 5;
    for (int t = 0; t < kReaders; ++t) {
      readers.push_back(Go([&, t] {
        for (int i = 0; i < t; ++i) Yield();  // so that somebody is inside at any time
        while (!done) {
          const ReaderLock lock(mu);
          ++turns;
          for (int i = 0; i < kReaders; ++i) Yield();
        }
      }));
    }
    for (int i = 0; i < 100; ++i) Yield();
    const long before = turns;
    EXPECT_GT(before, kReaders);
    mu.lock();
    EXPECT_LE(turns - before, kReaders);
    done = true;
    mu.unlock();
    for (auto& reader : readers) reader.Join();
  });
}

// Nor is a reader by writers.
TEST(RWMutexFairnessTest, AReaderIsNotStarved) {
  RunAt(Place{1}, [] {
    RWMutex mu;
    bool done = false;
    long turns = 0;
    std::vector<Task<void>> writers;
    for (int t = 0; t < 4; ++t) {
      writers.push_back(Go([&] {
        while (!done) {
          const WriterLock lock(mu);
          ++turns;
          Yield();
        }
      }));
    }
    for (int i = 0; i < 100; ++i) Yield();
    const long before = turns;
    mu.lock_shared();
    EXPECT_LE(turns - before, 4);
    done = true;
    mu.unlock_shared();
    for (auto& writer : writers) writer.Join();
  });
}

// A writer that waits keeps new readers out; if he gives up, they go in without any unlock.
TEST_P(RWMutexTest, AWriterThatGivesUpLetsTheReadersIn) {
  Here([] {
    for (int round = 0; round < Rounds(60); ++round) {
      RWMutex mu;
      auto quit = MakeChan<int>();
      mu.lock_shared();
      Task<void> writer = Go([&] {
        if (round % 2 == 0) {
          EXPECT_THROW((void)mu.try_lock_for(absl::Hours(1)), Cancelled);
        } else {
          Select(
              mu.OnLock() >> [](std::unique_lock<RWMutex>) { ADD_FAILURE(); },
              quit.OnRecv() >> kIgnore);
        }
      });
      // It waits when a reader no longer gets in.
      ASSERT_TRUE(EventuallyTrue([&] {
        if (!mu.try_lock_shared()) return true;
        mu.unlock_shared();
        return false;
      }));
      Task<void> reader = Go([&] {
        mu.lock_shared();
        mu.unlock_shared();
      });
      for (int i = 0; i < 20; ++i) Yield();
      EXPECT_FALSE(reader.done());
      if (round % 2 == 0) {
        writer.Cancel();
      } else {
        quit.Send(1);
      }
      reader.Join();
      writer.Join();
      mu.unlock_shared();
      ASSERT_TRUE(mu.try_lock());
      mu.unlock();
    }
  });
}

TEST_P(RWMutexTest, LockIsNoCancellationPoint) {
  Here([] {
    RWMutex mu;
    mu.lock();
    std::atomic<int> begun{0};
    Task<void> reader = Go([&] {
      ++begun;
      mu.lock_shared();
      mu.unlock_shared();
      EXPECT_THROW((void)mu.try_lock_for(absl::Hours(1)), Cancelled);
      EXPECT_THROW((void)mu.try_lock_shared_for(absl::Hours(1)), Cancelled);
    });
    Task<void> writer = Go([&] {
      ++begun;
      mu.lock();
      mu.unlock();
      EXPECT_THROW(Select(mu.OnLock() >> kIgnore), Cancelled);
    });
    while (begun.load() < 2) Yield();
    for (int i = 0; i < 20; ++i) Yield();
    reader.Cancel();
    writer.Cancel();
    mu.unlock();
    reader.Join();
    writer.Join();
  });
}

TEST_P(RWMutexTest, CancelStorm) {
  Here([] {
    RWMutex mu;
    for (int round = 0; round < Rounds(40); ++round) {
      std::vector<Task<void>> tasks;
      mu.lock();
      for (int i = 0; i < 24; ++i) {
        tasks.push_back(Go([&, i] {
          if (i % 2 == 0) {
            const auto lock = Select(mu.OnRLock());
          } else if (mu.try_lock_for(absl::Microseconds(i * 3))) {
            mu.unlock();
          }
        }));
      }
      for (int i = 0; i < round % 6; ++i) Yield();
      for (int i = 0; i < 24; ++i) {
        if (i % 3 != 0) tasks[(i * 7) % 24].Cancel();
        if (i == 12) mu.unlock();
      }
      for (auto& task : tasks) {
        try {
          task.Join();
        } catch (const TaskCancelled&) {
        }
      }
      ASSERT_TRUE(mu.try_lock());
      mu.unlock();
    }
  });
}

TEST_P(RWMutexTest, MayBeDestroyedByWhomItWoke) {
  Here([] {
    for (int round = 0; round < Rounds(1'000); ++round) {
      auto mu = std::make_unique<RWMutex>();
      std::atomic<bool> locked{false};
      Task<void> owner = Go([&locked, round, raw = mu.get()] {
        if (round % 3 == 0) {
          raw->lock_shared();
        } else {
          raw->lock();
        }
        locked = true;
        Yield();
        if (round % 3 == 0) {
          raw->unlock_shared();
        } else {
          raw->unlock();
        }
      });
      while (!locked.load()) Yield();
      if (round % 2 == 0) {
        mu->lock();
        mu->unlock();
      } else {
        while (!mu->try_lock()) Yield();
        mu->unlock();
      }
      mu.reset();
      owner.Join();
    }
  });
}

TEST_P(RWMutexTest, Misuse) {
  Here([] {
    RWMutex mu;
    EXPECT_THROW(mu.unlock(), SyncError);
    EXPECT_THROW(mu.unlock_shared(), SyncError);
    mu.lock_shared();
    try {
      mu.unlock();
      ADD_FAILURE();
    } catch (const Panic& e) {
      EXPECT_NE(std::string(e.what()).find("RWMutex::unlock"), std::string::npos) << e.what();
    }
    mu.unlock_shared();
    mu.lock();
    EXPECT_THROW(mu.unlock_shared(), SyncError);
    mu.unlock();
    EXPECT_TRUE(mu.try_lock());
    mu.unlock();
  });
}

}  // namespace
}  // namespace csp
