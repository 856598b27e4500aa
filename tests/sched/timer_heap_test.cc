#include "csp/sched/internal/timer_heap.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/scale.h"

namespace csp::internal {
namespace {

// Notes that it fired, and asks for nothing or for somebody to be woken.
class TestTimer final : public Timer {
 public:
  explicit TestTimer(Parker* wake = nullptr) : wake_(wake) {}
  std::atomic<int> fired{0};
  std::atomic<int> orphaned{0};
  static std::vector<const TestTimer*>* order;

 private:
  Fired Fire() noexcept override {
    ++fired;
    if (order != nullptr) order->push_back(this);
    return {wake_, nullptr};
  }
  void Orphaned() noexcept override {
    ++orphaned;
    Forget();
  }
  Parker* const wake_;
};
std::vector<const TestTimer*>* TestTimer::order = nullptr;

std::size_t FireAll(TimerHeap& heap, std::int64_t now) {
  Timer::Fired fired[16];
  std::size_t all = 0;
  std::size_t count;
  do {
    all += count = heap.FireDue(now, fired, 16);
  } while (count == 16);
  return all;
}

TEST(TimerHeapTest, Empty) {
  TimerHeap heap;
  EXPECT_EQ(heap.next(), kForever);
  EXPECT_EQ(heap.size(), 0U);
  EXPECT_EQ(FireAll(heap, kForever), 0U);
}

TEST(TimerHeapTest, FiresInOrderAndOnlyWhatIsDue) {
  TimerHeap heap;
  TestTimer timers[5];
  const std::int64_t deadlines[] = {30, 10, 50, 20, 40};
  const bool earliest[] = {true, true, false, false, false};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(heap.Add(timers[i], deadlines[i]), earliest[i]);
  EXPECT_EQ(heap.next(), 10);
  std::vector<const TestTimer*> order;
  TestTimer::order = &order;
  FireAll(heap, 9);
  EXPECT_TRUE(order.empty());
  FireAll(heap, 30);
  EXPECT_EQ(order, (std::vector<const TestTimer*>{&timers[1], &timers[3], &timers[0]}));
  EXPECT_EQ(heap.next(), 40);
  EXPECT_EQ(heap.size(), 2U);
  FireAll(heap, INT64_MAX);
  TestTimer::order = nullptr;
  EXPECT_EQ(order.size(), 5U);
  EXPECT_EQ(heap.next(), kForever);
}

TEST(TimerHeapTest, ALimitStopsItAndTheRestComesNext) {
  TimerHeap heap;
  std::vector<std::unique_ptr<TestTimer>> timers;
  auto* somebody = reinterpret_cast<Parker*>(&heap);  // is only handed on
  for (int i = 0; i < 10; ++i) {
    timers.push_back(std::make_unique<TestTimer>(somebody));
    heap.Add(*timers.back(), i);
  }
  Timer::Fired fired[4];
  EXPECT_EQ(heap.FireDue(100, fired, 4), 4U);
  EXPECT_EQ(heap.FireDue(100, fired, 4), 4U);
  EXPECT_EQ(heap.FireDue(100, fired, 4), 2U);
  for (const auto& timer : timers) EXPECT_EQ(timer->fired, 1);
  EXPECT_EQ(fired[0].unpark, somebody);
}

// Those that come too late and wake nobody are fired, too: the limit bounds how long the lock is
// held.
TEST(TimerHeapTest, ALimitCountsThoseThatWakeNobody) {
  TimerHeap heap;
  TestTimer timers[6];
  for (TestTimer& timer : timers) heap.Add(timer, 1);
  Timer::Fired fired[4];
  EXPECT_EQ(heap.FireDue(100, fired, 4), 4U);
  EXPECT_EQ(heap.size(), 2U);
  EXPECT_EQ(heap.FireDue(100, fired, 4), 2U);
}

TEST(TimerHeapTest, RemovedOnesAreGoneAtOnce) {
  TimerHeap heap;
  std::vector<std::unique_ptr<TestTimer>> timers;
  for (int i = 0; i < 100; ++i) {
    timers.push_back(std::make_unique<TestTimer>());
    heap.Add(*timers.back(), i * 37 % 100);
  }
  for (int i = 0; i < 100; i += 2) {
    EXPECT_TRUE(heap.Remove(*timers[i]));
    EXPECT_FALSE(heap.Remove(*timers[i]));
  }
  EXPECT_EQ(heap.size(), 50U);
  FireAll(heap, 1000);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(timers[i]->fired, i % 2);
  for (const auto& timer : timers) EXPECT_FALSE(heap.Remove(*timer));
}

// Against a model, with removals from everywhere and equal deadlines.
TEST(TimerHeapTest, AgainstAMultimap) {
  std::mt19937 random(42);
  TimerHeap heap;
  std::multimap<std::int64_t, TestTimer*> model;
  std::vector<std::unique_ptr<TestTimer>> timers;
  std::vector<TestTimer*> idle;
  for (int i = 0; i < 300; ++i) {
    timers.push_back(std::make_unique<TestTimer>());
    idle.push_back(timers.back().get());
  }
  std::int64_t now = 0;
  for (int step = 0; step < 100'000 / (kTsan || kAsan ? 10 : 1); ++step) {
    const int what = static_cast<int>(random() % 8);
    if (what < 4 && !idle.empty()) {
      std::swap(idle[random() % idle.size()], idle.back());
      const std::int64_t deadline = now + static_cast<std::int64_t>(random() % 200);
      const bool earliest = model.empty() || deadline < model.begin()->first;
      ASSERT_EQ(heap.Add(*idle.back(), deadline), earliest);
      model.emplace(deadline, idle.back());
      idle.pop_back();
    } else if (what < 7 && !model.empty()) {
      const auto victim =
          std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
      ASSERT_TRUE(heap.Remove(*victim->second));
      idle.push_back(victim->second);
      model.erase(victim);
    } else {
      now += static_cast<std::int64_t>(random() % 20);
      std::vector<const TestTimer*> order;
      TestTimer::order = &order;
      FireAll(heap, now);
      TestTimer::order = nullptr;
      std::int64_t last = INT64_MIN;
      for (const TestTimer* timer : order) {
        const auto found = std::find_if(model.begin(), model.end(),
                                        [&](const auto& entry) { return entry.second == timer; });
        ASSERT_NE(found, model.end());
        ASSERT_LE(last, found->first);
        ASSERT_LE(found->first, now);
        last = found->first;
        idle.push_back(found->second);
        model.erase(found);
      }
      ASSERT_TRUE(model.empty() || model.begin()->first > now);
    }
    ASSERT_EQ(heap.size(), model.size());
    ASSERT_EQ(heap.next(), model.empty() ? kForever : model.begin()->first);
  }
  for (const auto& [deadline, timer] : model) heap.Remove(*timer);
}

// A node is its owner's alone as soon as Remove has returned, whatever it returned.
TEST(TimerHeapTest, RemovalFromOtherThreadsRacesTheFiring) {
  TimerHeap heap;
  std::atomic<bool> over{false};
  std::thread firing([&] {
    while (!over) FireAll(heap, INT64_MAX - 1);
  });
  std::vector<std::thread> owners;
  for (int k = 0; k < 2; ++k) {
    owners.emplace_back([&, k] {
      std::mt19937 random(k);
      for (int i = 0; i < Rounds(20'000); ++i) {
        TestTimer timer;
        heap.Add(timer, static_cast<std::int64_t>(random() % 1000));
        for (int spin = static_cast<int>(random() % 100); spin > 0; --spin) CpuRelax();
        const bool removed = heap.Remove(timer);
        ASSERT_EQ(timer.fired, removed ? 0 : 1);
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  over = true;
  firing.join();
  EXPECT_EQ(heap.size(), 0U);
}

TEST(TimerHeapTest, OrphansAreTold) {
  TestTimer timers[3];
  {
    TimerHeap heap;
    for (TestTimer& timer : timers) heap.Add(timer, 5);
    heap.Orphan();
    EXPECT_EQ(heap.size(), 0U);
    EXPECT_EQ(heap.next(), kForever);
  }
  for (TestTimer& timer : timers) {
    EXPECT_EQ(timer.orphaned, 1);
    EXPECT_EQ(timer.fired, 0);
    EXPECT_FALSE(timer.Disarm());
  }
}

}  // namespace
}  // namespace csp::internal
