#include "csp/sched/record_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "csp/base/thread_context.h"
#include "csp/sched/internal/sanitizer.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using internal::AllocateRecord;
using internal::kMaxPooledRecord;
using internal::RecordCache;
using internal::ReleaseRecord;
using internal::TrimRecords;

struct Held {
  void* memory;
  std::size_t bytes;
};

// Fills a record with a byte of its own, so that an overlap shows.
Held Take(std::size_t bytes, int mark) {
  void* memory = AllocateRecord(bytes);
  std::memset(memory, mark, bytes);
  return {memory, bytes};
}
bool Intact(const Held& held, int mark) {
  const auto* bytes = static_cast<const unsigned char*>(held.memory);
  for (std::size_t i = 0; i < held.bytes; ++i) {
    if (bytes[i] != static_cast<unsigned char>(mark)) return false;
  }
  return true;
}

// On this thread, with a cache of its own or without.
class RecordPoolTest : public testing::TestWithParam<bool> {
 protected:
  RecordPoolTest() {
    if (GetParam()) internal::CurrentThread()->records = &cache_;
  }
  ~RecordPoolTest() override { internal::CurrentThread()->records = nullptr; }

 private:
  RecordCache cache_;
};
INSTANTIATE_TEST_SUITE_P(WithAndWithoutCache, RecordPoolTest, testing::Bool());

TEST_P(RecordPoolTest, RecordsOfAllSizesAreAlignedAndApart) {
  std::vector<Held> held;
  for (int round = 0; round < 100; ++round) {
    for (std::size_t bytes : {1, 63, 64, 65, 200, 511, 512, 513, 5000}) {
      held.push_back(Take(bytes, static_cast<int>(held.size())));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(held.back().memory) % alignof(std::max_align_t),
                0U);
    }
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    EXPECT_TRUE(Intact(held[i], static_cast<int>(i)));
    ReleaseRecord(held[i].memory, held[i].bytes);
  }
}

TEST_P(RecordPoolTest, WhatWasReleasedIsUsedAgain) {
  if (internal::kAsan) GTEST_SKIP() << "under ASan each record is an allocation of its own";
  std::set<void*> seen;
  for (int round = 0; round < 1000; ++round) {
    void* record = AllocateRecord(100);
    seen.insert(record);
    ReleaseRecord(record, 100);
  }
  EXPECT_LE(seen.size(), 2 * RecordCache::kMagazine);
}

TEST_P(RecordPoolTest, ASpikeGoesBackToTheSystem) {
  if (internal::kAsan) GTEST_SKIP() << "under ASan there is no pool";
  std::vector<void*> records;
  for (int i = 0; i < 100'000; ++i) records.push_back(AllocateRecord(kMaxPooledRecord));
  for (void* record : records) ReleaseRecord(record, kMaxPooledRecord);
  while (TrimRecords(64) != 0) {
  }
  EXPECT_EQ(TrimRecords(64), 0U);
  // Everything still works, on fresh and on kept memory.
  records.clear();
  for (int i = 0; i < 10'000; ++i) records.push_back(AllocateRecord(kMaxPooledRecord));
  EXPECT_EQ(std::set<void*>(records.begin(), records.end()).size(), records.size());
  for (void* record : records) ReleaseRecord(record, kMaxPooledRecord);
}

// What one thread allocates, others release.
TEST(RecordPoolThreadsTest, RecordsChangeHands) {
  constexpr int kThreads = 4;
  const int rounds = Rounds(20'000);
  std::atomic<void*> handed[kThreads] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      RecordCache cache;
      if (t % 2 == 0) internal::CurrentThread()->records = &cache;
      for (int i = 0; i < rounds; ++i) {
        const Held mine = Take(180, t);
        // Gives its own away and takes what lies there.
        void* other = handed[(t + i) % kThreads].exchange(mine.memory);
        if (other == nullptr) continue;
        const Held found{other, 180};
        const int mark = *static_cast<unsigned char*>(other);
        EXPECT_TRUE(Intact(found, mark));
        ReleaseRecord(other, 180);
      }
      internal::CurrentThread()->records = nullptr;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<void*>& place : handed) {
    if (void* record = place.load()) ReleaseRecord(record, 180);
  }
}

}  // namespace
}  // namespace csp
