#include "csp/base/intrusive_list.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "csp/base/random.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

struct Item : ListNode<Item> {
  explicit Item(int the_number = 0) : number(the_number) {}
  int number;
};

std::vector<int> Numbers(const IntrusiveList<Item>& list) {
  std::vector<int> numbers;
  for (const Item* item = list.front(); item != nullptr; item = IntrusiveList<Item>::Next(item)) {
    numbers.push_back(item->number);
  }
  return numbers;
}

class IntrusiveListTest : public ::testing::Test {
 protected:
  void Push(IntrusiveList<Item>& list, std::vector<int> numbers) {
    for (int number : numbers) list.PushBack(&items_[number]);
  }
  Item* item(int number) { return &items_[number]; }

 private:
  std::array<Item, 8> items_{Item(0), Item(1), Item(2), Item(3),
                             Item(4), Item(5), Item(6), Item(7)};
};

TEST_F(IntrusiveListTest, BeginsEmpty) {
  IntrusiveList<Item> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.front(), nullptr);
  EXPECT_EQ(list.back(), nullptr);
  EXPECT_EQ(list.PopFront(), nullptr);
  EXPECT_EQ(list.PopBack(), nullptr);
  EXPECT_FALSE(item(1)->linked());
}

TEST_F(IntrusiveListTest, KeepsTheOrderOfPushes) {
  IntrusiveList<Item> list;
  Push(list, {1, 2, 3});
  EXPECT_EQ(Numbers(list), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(list.front(), item(1));
  EXPECT_EQ(list.back(), item(3));
  EXPECT_TRUE(item(2)->linked());
}

TEST_F(IntrusiveListTest, PushesAtBothEnds) {
  IntrusiveList<Item> list;
  list.PushFront(item(2));
  EXPECT_EQ(list.front(), item(2));
  EXPECT_EQ(list.back(), item(2));
  list.PushFront(item(1));
  list.PushBack(item(3));
  EXPECT_EQ(Numbers(list), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(list.PopBack(), item(3));
  EXPECT_EQ(list.PopBack(), item(2));
  EXPECT_EQ(list.PopBack(), item(1));
  EXPECT_TRUE(list.empty());
}

TEST_F(IntrusiveListTest, PopsAtBothEnds) {
  IntrusiveList<Item> list;
  Push(list, {1, 2, 3});
  EXPECT_EQ(list.PopFront(), item(1));
  EXPECT_EQ(list.PopBack(), item(3));
  EXPECT_FALSE(item(1)->linked());
  EXPECT_FALSE(item(3)->linked());
  EXPECT_EQ(Numbers(list), (std::vector<int>{2}));
  EXPECT_EQ(list.PopBack(), item(2));
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.back(), nullptr);
}

TEST_F(IntrusiveListTest, RemovesAnywhere) {
  for (int removed : {1, 2, 3}) {
    IntrusiveList<Item> list;
    Push(list, {1, 2, 3});
    list.Remove(item(removed));
    EXPECT_FALSE(item(removed)->linked());
    std::vector<int> rest{1, 2, 3};
    rest.erase(std::find(rest.begin(), rest.end(), removed));
    EXPECT_EQ(Numbers(list), rest);
    EXPECT_EQ(list.front(), item(rest.front()));
    EXPECT_EQ(list.back(), item(rest.back()));
    while (list.PopFront() != nullptr) {
    }
  }
}

TEST_F(IntrusiveListTest, RemovingWhatIsNotLinkedDoesNothing) {
  IntrusiveList<Item> list;
  list.Remove(item(1));
  Push(list, {1, 2});
  list.Remove(item(3));
  list.Remove(item(1));
  list.Remove(item(1));
  EXPECT_EQ(Numbers(list), (std::vector<int>{2}));
}

TEST_F(IntrusiveListTest, AnElementCanGoFromListToList) {
  IntrusiveList<Item> first;
  IntrusiveList<Item> second;
  Push(first, {1, 2});
  first.Remove(item(1));
  second.PushBack(item(1));
  EXPECT_EQ(Numbers(first), (std::vector<int>{2}));
  EXPECT_EQ(Numbers(second), (std::vector<int>{1}));
}

TEST_F(IntrusiveListTest, AppendMovesAll) {
  for (const bool to_empty : {true, false}) {
    for (const bool from_empty : {true, false}) {
      IntrusiveList<Item> to;
      IntrusiveList<Item> from;
      if (!to_empty) Push(to, {1, 2});
      if (!from_empty) Push(from, {3, 4});
      to.Append(from);
      std::vector<int> all;
      if (!to_empty) all = {1, 2};
      if (!from_empty) all.insert(all.end(), {3, 4});
      EXPECT_EQ(Numbers(to), all);
      EXPECT_TRUE(from.empty());
      EXPECT_EQ(from.back(), nullptr);
      Push(from, {5});  // both are whole lists still
      Push(to, {6});
      all.push_back(6);
      EXPECT_EQ(Numbers(to), all);
      EXPECT_EQ(Numbers(from), (std::vector<int>{5}));
      while (to.PopBack() != nullptr) {
      }
      from.PopBack();
    }
  }
}

TEST_F(IntrusiveListTest, MovesAsAWhole) {
  IntrusiveList<Item> from;
  Push(from, {1, 2});
  IntrusiveList<Item> to(std::move(from));
  EXPECT_EQ(Numbers(to), (std::vector<int>{1, 2}));
  EXPECT_TRUE(from.empty());
  from = std::move(to);
  EXPECT_EQ(Numbers(from), (std::vector<int>{1, 2}));
  EXPECT_TRUE(to.empty());
  while (from.PopBack() != nullptr) {
  }
}

// Ten thousand steps against a std::deque.
TEST_F(IntrusiveListTest, BehavesAsADeque) {
  Random random(7);
  IntrusiveList<Item> list;
  std::deque<int> model;
  for (int step = 0; step < 10'000; ++step) {
    const int number = static_cast<int>(random.Below(8));
    const auto at = std::find(model.begin(), model.end(), number);
    switch (random.Below(4)) {
      case 0:
        if (at == model.end()) {
          list.PushBack(item(number));
          model.push_back(number);
        }
        break;
      case 1:
        list.Remove(item(number));
        if (at != model.end()) model.erase(at);
        break;
      case 2: {
        Item* front = list.PopFront();
        ASSERT_EQ(front, model.empty() ? nullptr : item(model.front()));
        if (!model.empty()) model.pop_front();
        break;
      }
      case 3: {
        Item* back = list.PopBack();
        ASSERT_EQ(back, model.empty() ? nullptr : item(model.back()));
        if (!model.empty()) model.pop_back();
        break;
      }
    }
    ASSERT_EQ(Numbers(list), std::vector<int>(model.begin(), model.end()));
    ASSERT_EQ(list.empty(), model.empty());
  }
  while (list.PopFront() != nullptr) {
  }
}

}  // namespace
}  // namespace csp::internal
