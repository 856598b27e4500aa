// A stream of bytes over a descriptor: what TcpStream and Descriptor have in common.
//
//   verb                  event
//   Read                  OnRead
//   ReadFull
//   Write                 OnWrite
//   WriteAll
//
// Reading and writing go on side by side. Of several fibers that read at once each gets some bytes,
// in no order that could be relied on; likewise for writing, where the pieces of two WriteAll may
// mix: let one fiber do it, or lock a Mutex around it.
//
// Memory ordering: what happens before a Write is visible to whoever has read its bytes, if it is
// in this program and learns of it through csp.
#ifndef CSP_NET_BYTE_STREAM_H_
#define CSP_NET_BYTE_STREAM_H_

#include <cstddef>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csp/net/bytes.h"
#include "csp/net/io_handle.h"

namespace csp::net {

class ByteStream : public IoHandle {
 public:
  class ReadEvent;
  class WriteEvent;

  // Blocks until there is something to read; returns how many bytes that was, 0 at the end of the
  // stream (and at once if there is no room at all).
  absl::StatusOr<std::size_t> Read(MutableBytes buffer);
  // The same into several buffers, one after another.
  absl::StatusOr<std::size_t> Read(std::span<const MutableBytes> buffers);

  // Reads until `buffer` is full. OutOfRange if the stream ends before. `*count`, if given, is how
  // many bytes have been read, in any case: also after an error, or if Cancelled is thrown; the
  // stream goes on behind these.
  absl::Status ReadFull(MutableBytes buffer, std::size_t* count = nullptr);

  // Blocks until there is room; returns how many bytes have been taken, at least one (unless there
  // are none to write).
  absl::StatusOr<std::size_t> Write(Bytes bytes);
  absl::StatusOr<std::size_t> Write(std::span<const Bytes> parts);

  // Writes everything. `*count` as for ReadFull.
  absl::Status WriteAll(Bytes bytes, std::size_t* count = nullptr);
  absl::Status WriteAll(std::span<const Bytes> parts, std::size_t* count = nullptr);

  // Read and Write as events of Select; the result is theirs. If the case loses, no byte has moved.
  [[nodiscard]] ReadEvent OnRead(MutableBytes buffer);
  [[nodiscard]] WriteEvent OnWrite(Bytes bytes);

 protected:
  ByteStream() = default;
  using IoHandle::IoHandle;
};

class ByteStream::ReadEvent final : public SelectEvent, public internal::IoCase {
 public:
  using Result = absl::StatusOr<std::size_t>;

  ReadEvent(internal::OpenFile& file, MutableBytes buffer);
  Result Take();

 private:
  ssize_t Try(int fd) override;

  const MutableBytes buffer_;
};

class ByteStream::WriteEvent final : public SelectEvent, public internal::IoCase {
 public:
  using Result = absl::StatusOr<std::size_t>;

  WriteEvent(internal::OpenFile& file, Bytes bytes);
  Result Take();

 private:
  ssize_t Try(int fd) override;

  const Bytes bytes_;
};

}  // namespace csp::net

#endif  // CSP_NET_BYTE_STREAM_H_
