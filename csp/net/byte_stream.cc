#include "csp/net/byte_stream.h"

#include <errno.h>
#include <sys/uio.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/system.h"

namespace csp::net {
namespace {

using internal::CountOrError;
using internal::Direction;
using internal::IoError;
using internal::OpenFile;
using internal::Perform;
using internal::TheSystem;

constexpr ParkReason kRead{"Read", "net"};
constexpr ParkReason kWrite{"Write", "net"};

// As many buffers as one call takes; what is left is for the next.
constexpr std::size_t kParts = 64;

// What has moved less than it could says that the next call would block.
ssize_t NoteShort(OpenFile& file, Direction direction, ssize_t moved, std::size_t wanted) {
  if (moved > 0 && static_cast<std::size_t>(moved) < wanted) file.SetDrained(direction, true);
  return moved;
}

ssize_t TryRead(OpenFile& file, int fd, MutableBytes buffer) {
  const ssize_t count = file.kind() == OpenFile::Kind::kSocket
                            ? TheSystem().Recv(fd, buffer.data(), buffer.size(), 0)
                            : TheSystem().Read(fd, buffer.data(), buffer.size());
  return NoteShort(file, Direction::kRead, count, buffer.size());
}

ssize_t TryWrite(OpenFile& file, int fd, Bytes bytes) {
  const ssize_t count = file.kind() == OpenFile::Kind::kSocket
                            ? TheSystem().Send(fd, bytes.data(), bytes.size(), 0)
                            : TheSystem().Write(fd, bytes.data(), bytes.size());
  return NoteShort(file, Direction::kWrite, count, bytes.size());
}

// The buffers as the system wants them, from the first byte after `skip` on.
template <class Buffer>
class Parts {
 public:
  explicit Parts(std::span<const Buffer> buffers, std::size_t skip = 0) {
    for (Buffer buffer : buffers) {
      const std::size_t skipped = std::min(skip, buffer.size());
      skip -= skipped;
      buffer = buffer.From(skipped);
      if (buffer.size() == 0) continue;
      if (count_ == kParts) break;
      parts_[count_++] = {const_cast<void*>(static_cast<const void*>(buffer.data())),
                          buffer.size()};
      size_ += buffer.size();
    }
  }

  std::size_t size() const { return size_; }
  const iovec* data() const { return parts_; }
  int count() const { return static_cast<int>(count_); }

  msghdr AsMessage() {
    msghdr message{};
    message.msg_iov = parts_;
    message.msg_iovlen = count_;
    return message;
  }

 private:
  iovec parts_[kParts];
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

ssize_t TryReadParts(OpenFile& file, int fd, Parts<MutableBytes>& parts) {
  msghdr message = parts.AsMessage();
  const ssize_t count = file.kind() == OpenFile::Kind::kSocket
                            ? TheSystem().RecvMsg(fd, &message, 0)
                            : TheSystem().Readv(fd, parts.data(), parts.count());
  return NoteShort(file, Direction::kRead, count, parts.size());
}

ssize_t TryWriteParts(OpenFile& file, int fd, Parts<Bytes>& parts) {
  const msghdr message = parts.AsMessage();
  const ssize_t count = file.kind() == OpenFile::Kind::kSocket
                            ? TheSystem().SendMsg(fd, &message, 0)
                            : TheSystem().Writev(fd, parts.data(), parts.count());
  return NoteShort(file, Direction::kWrite, count, parts.size());
}

ssize_t DoRead(OpenFile& file, MutableBytes buffer) {
  return Perform(file, Direction::kRead, kRead, [&](int fd) { return TryRead(file, fd, buffer); });
}

ssize_t DoWrite(OpenFile& file, Bytes bytes) {
  return Perform(file, Direction::kWrite, kWrite,
                 [&](int fd) { return TryWrite(file, fd, bytes); });
}

ssize_t DoWrite(OpenFile& file, std::span<const Bytes> buffers, std::size_t skip) {
  Parts<Bytes> parts(buffers, skip);
  if (parts.size() == 0) return 0;
  return Perform(file, Direction::kWrite, kWrite,
                 [&](int fd) { return TryWriteParts(file, fd, parts); });
}

}  // namespace

// --- Reading.

absl::StatusOr<std::size_t> ByteStream::Read(MutableBytes buffer) {
  OpenFile& f = file("Read");
  if (buffer.size() == 0) return 0;
  return CountOrError(f.type(), "Read", DoRead(f, buffer));
}

absl::StatusOr<std::size_t> ByteStream::Read(std::span<const MutableBytes> buffers) {
  OpenFile& f = file("Read");
  Parts<MutableBytes> parts(buffers);
  if (parts.size() == 0) return 0;
  return CountOrError(f.type(), "Read", Perform(f, Direction::kRead, kRead, [&](int fd) {
                        return TryReadParts(f, fd, parts);
                      }));
}

absl::Status ByteStream::ReadFull(MutableBytes buffer, std::size_t* count) {
  OpenFile& f = file("ReadFull");
  std::size_t ignored;
  std::size_t& done = count != nullptr ? *count : ignored;
  for (done = 0; done < buffer.size();) {
    const ssize_t read = DoRead(f, buffer.From(done));
    if (read < 0) return IoError(f.type(), "ReadFull", read);
    if (read == 0) {
      return absl::OutOfRangeError(absl::StrCat(f.type(), "::ReadFull: the stream ended after ",
                                                done, " of ", buffer.size(), " bytes"));
    }
    done += static_cast<std::size_t>(read);
  }
  return absl::OkStatus();
}

// --- Writing.

absl::StatusOr<std::size_t> ByteStream::Write(Bytes bytes) {
  OpenFile& f = file("Write");
  if (bytes.size() == 0) return 0;
  return CountOrError(f.type(), "Write", DoWrite(f, bytes));
}

absl::StatusOr<std::size_t> ByteStream::Write(std::span<const Bytes> parts) {
  OpenFile& f = file("Write");
  return CountOrError(f.type(), "Write", DoWrite(f, parts, 0));
}

absl::Status ByteStream::WriteAll(Bytes bytes, std::size_t* count) {
  OpenFile& f = file("WriteAll");
  std::size_t ignored;
  std::size_t& done = count != nullptr ? *count : ignored;
  for (done = 0; done < bytes.size();) {
    const ssize_t written = DoWrite(f, bytes.From(done));
    if (written < 0) return IoError(f.type(), "WriteAll", written);
    done += static_cast<std::size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status ByteStream::WriteAll(std::span<const Bytes> parts, std::size_t* count) {
  OpenFile& f = file("WriteAll");
  std::size_t ignored;
  std::size_t& done = count != nullptr ? *count : ignored;
  for (done = 0;;) {
    const ssize_t written = DoWrite(f, parts, done);
    if (written == 0) return absl::OkStatus();
    if (written < 0) return IoError(f.type(), "WriteAll", written);
    done += static_cast<std::size_t>(written);
  }
}

// --- Events.

ByteStream::ReadEvent ByteStream::OnRead(MutableBytes buffer) {
  return ReadEvent(file("OnRead"), buffer);
}

ByteStream::WriteEvent ByteStream::OnWrite(Bytes bytes) {
  return WriteEvent(file("OnWrite"), bytes);
}

ByteStream::ReadEvent::ReadEvent(OpenFile& file, MutableBytes buffer)
    : IoCase(file, Direction::kRead, kRead, /*hopeless_first=*/false), buffer_(buffer) {}

ssize_t ByteStream::ReadEvent::Try(int fd) { return TryRead(file(), fd, buffer_); }

ByteStream::ReadEvent::Result ByteStream::ReadEvent::Take() {
  return CountOrError(file().type(), "OnRead", result());
}

ByteStream::WriteEvent::WriteEvent(OpenFile& file, Bytes bytes)
    : IoCase(file, Direction::kWrite, kWrite, /*hopeless_first=*/false), bytes_(bytes) {}

ssize_t ByteStream::WriteEvent::Try(int fd) { return TryWrite(file(), fd, bytes_); }

ByteStream::WriteEvent::Result ByteStream::WriteEvent::Take() {
  return CountOrError(file().type(), "OnWrite", result());
}

}  // namespace csp::net
