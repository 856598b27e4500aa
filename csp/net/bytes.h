// Where bytes are to be read into, and which are to be written: a pointer and a size, made from
// whatever holds bytes.
//
//   char buffer[4096];
//   auto count = stream.Read(buffer);                        // the whole array
//   stream.WriteAll(std::string_view(buffer, *count));
//   stream.WriteAll("HTTP/1.1 200 OK\r\n");                  // without the terminating zero
//
// Both borrow: what they are made from outlives the call.
#ifndef CSP_NET_BYTES_H_
#define CSP_NET_BYTES_H_

#include <cstddef>
#include <ranges>
#include <string_view>
#include <type_traits>
#include <utility>

namespace csp::net {

// A contiguous range of char, unsigned char or std::byte (std::array, std::vector, std::string,
// std::span, an array).
template <class R>
concept ByteRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    (std::is_same_v<std::ranges::range_value_t<R>, char> ||
     std::is_same_v<std::ranges::range_value_t<R>, unsigned char> ||
     std::is_same_v<std::ranges::range_value_t<R>, std::byte>);

class MutableBytes {
 public:
  MutableBytes() = default;
  MutableBytes(void* data, std::size_t size) : data_(data), size_(size) {}
  template <ByteRange R>
  requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
      MutableBytes(R&& range)  // NOLINT: converts
      : data_(std::ranges::data(range)), size_(std::ranges::size(range)) {}

  void* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Without the first `count` bytes, of which there must be as many.
  MutableBytes From(std::size_t count) const {
    return {static_cast<std::byte*>(data_) + count, size_ - count};
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class Bytes {
 public:
  Bytes() = default;
  Bytes(const void* data, std::size_t size) : data_(data), size_(size) {}
  Bytes(std::string_view text) : data_(text.data()), size_(text.size()) {}  // NOLINT: converts
  Bytes(const char* text) : Bytes(std::string_view(text)) {}                // NOLINT: converts
  template <ByteRange R>
  requires(!std::is_convertible_v<R&&, const char*>) Bytes(R&& range)  // NOLINT: converts
      : data_(std::ranges::data(range)), size_(std::ranges::size(range)) {}

  const void* data() const { return data_; }
  std::size_t size() const { return size_; }

  Bytes From(std::size_t count) const {
    return {static_cast<const std::byte*>(data_) + count, size_ - count};
  }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace csp::net

#endif  // CSP_NET_BYTES_H_
