// What a channel holds: a FIFO of values, bounded or not. Guarded by the channel's lock.
//
// A bounded buffer is one ring, allocated when the channel is made. An unbounded one is a chain of chunks;
// since nothing may be allocated under the channel's lock, whoever pushes brings a chunk along when
// NeedsChunk says so, and the last emptied one is kept.
#ifndef CSP_CHAN_INTERNAL_BUFFER_H_
#define CSP_CHAN_INTERNAL_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace csp::internal {

template <class T>
class Buffer {
 public:
  // A piece of uninitialised storage for values.
  struct Chunk {
    explicit Chunk(std::size_t room) : cells(std::allocator<T>().allocate(room)), size(room) {}
    ~Chunk() { std::allocator<T>().deallocate(cells, size); }
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;

    T* const cells;
    const std::size_t size;
    std::unique_ptr<Chunk> next;  // holds younger values
  };

  // `capacity` values at most; kUnlimited: as many as memory holds. Throws std::bad_alloc and
  // std::bad_array_new_length.
  static constexpr std::size_t kUnlimited = SIZE_MAX;
  explicit Buffer(std::size_t capacity) : capacity_(capacity) {
    if (capacity == 0) return;
    first_ = std::make_unique<Chunk>(capacity == kUnlimited ? kChunkSize : capacity);
    last_ = first_.get();
  }

  ~Buffer() {
    while (size_ > 0) Pop();
    while (first_ != nullptr) first_ = std::move(first_->next);
  }

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::size_t capacity() const { return capacity_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ >= capacity_; }

  // True if the next Push needs AddChunk before it.
  bool NeedsChunk() const {
    return capacity_ == kUnlimited && tail_ == last_->size && spare_ == nullptr;
  }
  static std::unique_ptr<Chunk> MakeChunk() { return std::make_unique<Chunk>(kChunkSize); }
  void AddChunk(std::unique_ptr<Chunk> chunk) { spare_ = std::move(chunk); }

  // Requires !full() and !NeedsChunk().
  void Push(T&& value) {
    if (tail_ == last_->size) {
      if (capacity_ == kUnlimited) {
        last_->next = std::move(spare_);
        last_ = last_->next.get();
      }
      tail_ = 0;
    }
    std::construct_at(last_->cells + tail_, std::move(value));
    ++tail_;
    ++size_;
  }

  // The oldest value. Requires !empty().
  T& front() {
    Advance();
    return first_->cells[head_];
  }

  void Pop() {
    Advance();
    std::destroy_at(first_->cells + head_);
    ++head_;
    --size_;
  }

 private:
  // 2 KiB a chunk; of larger values 16, as far as that is 16 KiB at most, but one at least.
  static constexpr std::size_t kChunkSize =
      sizeof(T) < 128 ? 2048 / sizeof(T)
                      : std::max<std::size_t>(1, std::min<std::size_t>(16, 16384 / sizeof(T)));

  // Lets head_ point at the oldest value.
  void Advance() {
    if (head_ == first_->size) [[unlikely]] {
      NextChunk();
    }
  }

  [[gnu::noinline]] void NextChunk() {
    head_ = 0;
    if (capacity_ == kUnlimited) {
      std::unique_ptr<Chunk> emptied = std::move(first_);
      first_ = std::move(emptied->next);
      if (spare_ == nullptr) spare_ = std::move(emptied);
    }
  }

  const std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t head_ = 0;  // place of the oldest value in *first_
  std::size_t tail_ = 0;  // place behind the youngest in *last_
  std::unique_ptr<Chunk> first_;
  Chunk* last_ = nullptr;
  std::unique_ptr<Chunk> spare_;
};

}  // namespace csp::internal

#endif  // CSP_CHAN_INTERNAL_BUFFER_H_
