#include "csp/net/io_handle.h"

#include <errno.h>

#include "csp/base/clock.h"

namespace csp::net {

using internal::Direction;

IoHandle& IoHandle::operator=(IoHandle&& other) noexcept {
  if (this != &other) {
    Close();
    file_ = std::move(other.file_);
  }
  return *this;
}

void IoHandle::Close() {
  if (file_) file_->Close();
}

absl::StatusOr<int> IoHandle::Release() {
  const int fd = file("Release").Release();
  if (fd >= 0) return fd;
  return absl::FailedPreconditionError(fd == -EBUSY ? "Release: a call is in progress; end it first"
                                                    : "Release: closed");
}

void IoHandle::SetDeadline(absl::Time deadline) {
  SetReadDeadline(deadline);
  SetWriteDeadline(deadline);
}

void IoHandle::SetReadDeadline(absl::Time deadline) {
  file("SetReadDeadline").SetDeadline(Direction::kRead, internal::FromTime(deadline));
}

void IoHandle::SetWriteDeadline(absl::Time deadline) {
  file("SetWriteDeadline").SetDeadline(Direction::kWrite, internal::FromTime(deadline));
}

ReadyEvent IoHandle::OnReadable() {
  static constexpr ParkReason kReason{"OnReadable", "net"};
  return ReadyEvent(file("OnReadable"), Direction::kRead, kReason);
}

ReadyEvent IoHandle::OnWritable() {
  static constexpr ParkReason kReason{"OnWritable", "net"};
  return ReadyEvent(file("OnWritable"), Direction::kWrite, kReason);
}

}  // namespace csp::net
