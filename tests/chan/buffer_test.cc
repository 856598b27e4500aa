// What a channel holds: the ring, the chain of chunks, and who is destroyed when.

#include "csp/chan/internal/buffer.h"

#include <deque>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>

#include "gtest/gtest.h"
#include "tests/chan/counted.h"

namespace csp::internal {
namespace {

template <class T>
void PushTo(Buffer<T>& buffer, std::type_identity_t<T>&& value) {
  if (buffer.NeedsChunk()) buffer.AddChunk(Buffer<T>::MakeChunk());
  buffer.Push(std::move(value));
}

template <class T>
T PopFrom(Buffer<T>& buffer) {
  T value = std::move(buffer.front());
  buffer.Pop();
  return value;
}

TEST(BufferTest, OfCapacityZeroIsEmptyAndFull) {
  Buffer<int> buffer(0);
  EXPECT_TRUE(buffer.empty());
  EXPECT_TRUE(buffer.full());
  EXPECT_EQ(buffer.capacity(), 0u);
  EXPECT_FALSE(buffer.NeedsChunk());
}

TEST(BufferTest, HoldsExactlyItsCapacity) {
  for (std::size_t capacity : {1, 2, 3, 5, 7, 8, 1000}) {
    Buffer<int> buffer(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(buffer.size(), i);
      ASSERT_FALSE(buffer.full());
      ASSERT_FALSE(buffer.NeedsChunk());
      buffer.Push(static_cast<int>(i));
    }
    EXPECT_TRUE(buffer.full());
    for (std::size_t i = 0; i < capacity; ++i) ASSERT_EQ(PopFrom(buffer), static_cast<int>(i));
    EXPECT_TRUE(buffer.empty());
  }
}

// An unbounded channel of large values does not take a megabyte at once, and keep as much.
template <std::size_t bytes>
struct Sized {
  char content[bytes];
};

TEST(BufferTest, AChunkIsBoundedByItsBytes) {
  EXPECT_EQ(Buffer<char>::MakeChunk()->size, 2048u);
  EXPECT_EQ(Buffer<Sized<128>>::MakeChunk()->size, 16u);
  EXPECT_EQ(Buffer<Sized<4096>>::MakeChunk()->size, 4u);
  EXPECT_EQ(Buffer<Sized<65536>>::MakeChunk()->size, 1u);
  Buffer<Sized<65536>> ones(Buffer<Sized<65536>>::kUnlimited);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) PushTo(ones, {{static_cast<char>(i)}});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(PopFrom(ones).content[0], i);
    EXPECT_TRUE(ones.empty());
  }
}

// Against a deque, with a fill that drifts up and down so that the ring wraps and chunks come and
// go.
void CompareWithDeque(std::size_t capacity) {
  std::mt19937 random(7);
  Buffer<int> buffer(capacity);
  std::deque<int> model;
  for (int i = 0; i < 100'000; ++i) {
    const bool rising = (i / 5000) % 2 == 0;
    const bool push = random() % 3 != (rising ? 0u : 1u) && random() % (rising ? 1 : 2) == 0;
    if (push && !buffer.full()) {
      PushTo(buffer, int{i});
      model.push_back(i);
    } else if (!model.empty()) {
      ASSERT_EQ(buffer.front(), model.front());
      ASSERT_EQ(PopFrom(buffer), model.front());
      model.pop_front();
    }
    ASSERT_EQ(buffer.size(), model.size());
    ASSERT_EQ(buffer.empty(), model.empty());
    ASSERT_EQ(buffer.full(), model.size() >= capacity);
  }
}

TEST(BufferTest, BoundedIsFifo) {
  for (std::size_t capacity : {1, 2, 3, 7, 64}) CompareWithDeque(capacity);
}

TEST(BufferTest, UnboundedIsFifo) { CompareWithDeque(Buffer<int>::kUnlimited); }

TEST(BufferTest, UnboundedNeedsAChunkOnlyWhenTheLastIsUsedUp) {
  using CountedBuffer = Buffer<int>;
  CountedBuffer buffer(CountedBuffer::kUnlimited);
  int chunks = 0;
  constexpr int kValues = 10'000;
  for (int i = 0; i < kValues; ++i) {
    if (buffer.NeedsChunk()) {
      buffer.AddChunk(CountedBuffer::MakeChunk());
      EXPECT_FALSE(buffer.NeedsChunk());
      ++chunks;
    }
    buffer.Push(int{i});
  }
  EXPECT_GT(chunks, 1);
  EXPECT_LT(chunks, kValues / 100);
}

TEST(BufferTest, UnboundedThatIsDrainedAsItIsFilledReusesItsChunks) {
  Buffer<int> buffer(Buffer<int>::kUnlimited);
  int chunks = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (buffer.NeedsChunk()) {
      buffer.AddChunk(Buffer<int>::MakeChunk());
      ++chunks;
    }
    buffer.Push(int{i});
    ASSERT_EQ(PopFrom(buffer), i);
  }
  EXPECT_LE(chunks, 2);  // the first one and the one in reserve take turns
}

TEST(BufferTest, PopDestroys) {
  for (std::size_t capacity : {std::size_t{3}, Buffer<Counted>::kUnlimited}) {
    Buffer<Counted> buffer(capacity);
    for (int i = 0; i < 100; ++i) {
      PushTo(buffer, Counted(i));
      PushTo(buffer, Counted(-i));
      EXPECT_EQ(Counted::live(), 2);
      EXPECT_EQ(PopFrom(buffer).value(), i);
      EXPECT_EQ(Counted::live(), 1);
      EXPECT_EQ(PopFrom(buffer).value(), -i);
      EXPECT_EQ(Counted::live(), 0);
    }
  }
}

TEST(BufferTest, DestructorDestroysWhatIsLeft) {
  for (int left : {0, 1, 2, 15, 16, 17, 100}) {
    {
      Buffer<Counted> bounded(100);
      Buffer<Counted> unbounded(Buffer<Counted>::kUnlimited);
      for (int i = 0; i < 50; ++i) {  // so that neither begins at its beginning
        PushTo(bounded, Counted(i));
        PushTo(unbounded, Counted(i));
        bounded.Pop();
        unbounded.Pop();
      }
      for (int i = 0; i < left; ++i) {
        PushTo(bounded, Counted(i));
        PushTo(unbounded, Counted(i));
      }
      EXPECT_EQ(Counted::live(), 2 * left);
    }
    EXPECT_EQ(Counted::live(), 0);
  }
}

TEST(BufferTest, KeepsTheAlignmentOfItsValues) {
  struct alignas(64) Wide {
    int value;
  };
  Buffer<Wide> buffer(Buffer<Wide>::kUnlimited);
  for (int i = 0; i < 1000; ++i) PushTo(buffer, Wide{i});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(&buffer.front()) % 64, 0u);
    ASSERT_EQ(PopFrom(buffer).value, i);
  }
}

TEST(BufferTest, HoldsValuesLargerThanAChunk) {
  struct Large {
    char bytes[64 << 10];
  };
  Buffer<Large> buffer(Buffer<Large>::kUnlimited);
  auto value = std::make_unique<Large>();
  for (int i = 0; i < 40; ++i) {
    value->bytes[sizeof(Large) - 1] = static_cast<char>(i);
    if (buffer.NeedsChunk()) buffer.AddChunk(Buffer<Large>::MakeChunk());
    buffer.Push(std::move(*value));
  }
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(buffer.front().bytes[sizeof(Large) - 1], i);
    buffer.Pop();
  }
}

TEST(BufferTest, ThrowsWhereTheCapacityIsTooLarge) {
  EXPECT_THROW(Buffer<double>(SIZE_MAX / 2), std::bad_alloc);
}

}  // namespace
}  // namespace csp::internal
