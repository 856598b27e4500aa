#include "csp/sched/internal/newborn_list.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <vector>

#include "csp/base/random.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

class FakeTask final : public TaskRecord {
 public:
  void Run() noexcept override {}
  void Fail(std::exception_ptr) noexcept override {}
  void Finished() noexcept override {}
};

class NewbornListTest : public testing::Test {
 protected:
  // Adds `count` tasks, numbered from where the last call ended.
  void Push(NewbornList& list, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      FakeTask& task = tasks_.emplace_back();
      task.number = tasks_.size();
      list.PushBack(&task);
    }
  }

  static std::vector<std::uint64_t> Numbers(NewbornList& list) {
    std::vector<std::uint64_t> numbers;
    list.ForEach([&](TaskRecord& task) {
      numbers.push_back(task.number);
      return true;
    });
    return numbers;
  }
  static std::vector<std::uint64_t> Range(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t n = first; n <= last; ++n) numbers.push_back(n);
    return numbers;
  }

 private:
  std::deque<FakeTask> tasks_;
};

TEST_F(NewbornListTest, AnEmptyList) {
  NewbornList list;
  NewbornList::Batch batch;
  EXPECT_EQ(list.size(), 0U);
  EXPECT_EQ(list.oldest(), nullptr);
  EXPECT_EQ(list.PopBack(), nullptr);
  EXPECT_EQ(list.PopFront(), nullptr);
  list.TakeOldest(batch);
  EXPECT_EQ(batch.size, 0U);
  list.AddOldest(batch);
  EXPECT_EQ(list.size(), 0U);
}

TEST_F(NewbornListTest, TheOwnerPopsTheNewestAcrossBatches) {
  NewbornList list;
  constexpr std::uint64_t kCount = 3 * NewbornList::kBatch + 5;
  Push(list, kCount);
  for (std::uint64_t n = kCount; n > 0; --n) {
    ASSERT_EQ(list.size(), n);
    ASSERT_EQ(list.oldest()->number, 1U);
    ASSERT_EQ(list.PopBack()->number, n);
  }
  EXPECT_EQ(list.PopBack(), nullptr);
}

TEST_F(NewbornListTest, TheOldestAcrossBatches) {
  NewbornList list;
  constexpr std::uint64_t kCount = 2 * NewbornList::kBatch + 5;
  Push(list, kCount);
  for (std::uint64_t n = 1; n <= kCount; ++n) {
    ASSERT_EQ(list.oldest()->number, n);
    ASSERT_EQ(list.PopFront()->number, n);
  }
  EXPECT_EQ(list.oldest(), nullptr);
}

TEST_F(NewbornListTest, AThiefTakesHalfOfAFew) {
  for (std::size_t count = 1; count <= NewbornList::kBatch; ++count) {
    NewbornList list;
    NewbornList::Batch batch;
    Push(list, count);
    list.TakeOldest(batch);
    EXPECT_EQ(batch.size, std::min((count + 1) / 2, NewbornList::kMostWalked));
    EXPECT_EQ(list.size(), count - batch.size);
    for (std::size_t i = 0; i < batch.size; ++i) EXPECT_NE(batch.tasks.PopFront(), nullptr);
    EXPECT_EQ(batch.tasks.PopFront(), nullptr);
    while (list.PopBack() != nullptr) {
    }
  }
}

TEST_F(NewbornListTest, AThiefTakesWholeBatchesOfMany) {
  NewbornList list;
  NewbornList::Batch batch;
  constexpr std::uint64_t kCount = 4 * NewbornList::kBatch + 1;
  Push(list, kCount);
  list.TakeOldest(batch);
  EXPECT_EQ(batch.size, 2 * NewbornList::kBatch);
  EXPECT_EQ(list.size(), kCount - batch.size);
  EXPECT_EQ(Numbers(list), Range(batch.size + 1, kCount));

  NewbornList home;  // the thief's
  home.AddOldest(batch);
  EXPECT_EQ(batch.size, 0U);
  EXPECT_TRUE(batch.tasks.empty());
  EXPECT_EQ(Numbers(home), Range(1, 2 * NewbornList::kBatch));
  while (home.PopBack() != nullptr || list.PopBack() != nullptr) {
  }
}

TEST_F(NewbornListTest, AThiefTakesNoMoreThanItMay) {
  NewbornList list;
  NewbornList::Batch batch;
  Push(list, 10 * NewbornList::kMostTaken);
  list.TakeOldest(batch);
  EXPECT_EQ(batch.size, NewbornList::kMostTaken);
  while (list.PopBack() != nullptr || batch.tasks.PopBack() != nullptr) {
  }
}

TEST_F(NewbornListTest, ForEachStopsWhenToldTo) {
  NewbornList list;
  Push(list, 2 * NewbornList::kBatch);
  std::size_t seen = 0;
  list.ForEach([&](TaskRecord&) { return ++seen < 10; });
  EXPECT_EQ(seen, 10U);
  while (list.PopBack() != nullptr) {
  }
}

// Any sequence of calls, against one std::deque for each of an owner and a thief.
TEST_F(NewbornListTest, BehavesAsADeque) {
  Random random(20261130);
  NewbornList lists[2];
  std::deque<std::uint64_t> expected[2];
  std::uint64_t last = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint32_t i = random.Below(2);
    NewbornList& list = lists[i];
    std::deque<std::uint64_t>& numbers = expected[i];
    switch (random.Below(8)) {
      case 0: {
        const std::uint32_t count = random.Below(600);
        Push(list, count);
        for (std::uint32_t k = 0; k < count; ++k) numbers.push_back(++last);
        break;
      }
      case 1: {
        NewbornList::Batch batch;
        lists[1 - i].TakeOldest(batch);
        std::deque<std::uint64_t>& victim = expected[1 - i];
        ASSERT_LE(batch.size, (victim.size() + 1) / 2);
        ASSERT_EQ(batch.size == 0, victim.empty());
        numbers.insert(numbers.begin(), victim.begin(),
                       victim.begin() + static_cast<std::ptrdiff_t>(batch.size));
        victim.erase(victim.begin(), victim.begin() + static_cast<std::ptrdiff_t>(batch.size));
        list.AddOldest(batch);
        break;
      }
      case 2:
      case 3: {
        TaskRecord* task = list.PopFront();
        ASSERT_EQ(task == nullptr, numbers.empty());
        if (task == nullptr) break;
        ASSERT_EQ(task->number, numbers.front());
        numbers.pop_front();
        break;
      }
      default:
        for (std::uint32_t k = random.Below(150); k > 0 && !numbers.empty(); --k) {
          ASSERT_EQ(list.PopBack()->number, numbers.back());
          numbers.pop_back();
        }
    }
    ASSERT_EQ(list.size(), numbers.size());
    ASSERT_EQ(list.oldest() == nullptr, numbers.empty());
    if (numbers.empty()) continue;
    ASSERT_EQ(list.oldest()->number, numbers.front());
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Numbers(lists[i]),
              std::vector<std::uint64_t>(expected[i].begin(), expected[i].end()));
    while (lists[i].PopBack() != nullptr) {
    }
  }
}

}  // namespace
}  // namespace csp::internal
