// What all that csp/net opens has in common: it can be closed, given away, given deadlines, and
// watched.
//
// A call ends with an absl::Status (io_status.h) when the world does something to it; Cancelled is
// thrown as by all that blocks, and then nothing has happened. Misuse of an empty object (default-
// constructed, moved from, released) throws InvalidArgument.
//
// Thread rules: all members from any fiber or thread, at the same time, except for the destructor
// and for moving: those need an object that nobody is using. To end the calls of others use Close.
#ifndef CSP_NET_IO_HANDLE_H_
#define CSP_NET_IO_HANDLE_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csp/net/internal/counted.h"
#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/open_file.h"
#include "csp/select/select_event.h"

namespace csp::net {

class ReadyEvent;

class IoHandle {
 public:
  // Empty.
  IoHandle() = default;
  IoHandle(IoHandle&&) noexcept = default;
  IoHandle& operator=(IoHandle&& other) noexcept;
  // Closes.
  ~IoHandle() { Close(); }

  // Ends every call in progress, by other fibers and threads, too: these fail with IsClosed, as do
  // all calls from now on. The descriptor itself is closed once they have left. Does nothing if it
  // is empty or closed. Never suspends.
  void Close();

  // False if it is empty or has been closed.
  bool is_open() const { return file_ && !file_->closed(); }

  // Takes the descriptor out, in the mode (blocking or not) in which it came; the caller owns it,
  // and this object is closed. FailedPrecondition, and nothing happens, if a call is in progress or
  // the object is closed. Never suspends.
  absl::StatusOr<int> Release();

  // The descriptor; it stays this object's. -1 if it is empty or closed.
  int native_handle() const { return is_open() ? file_->fd() : -1; }

  // From `deadline` on calls in that direction fail with DeadlineExceeded, also those that are in
  // progress, and even if there is something to read; until it is set to a later time.
  // absl::InfiniteFuture() means none, and is what all begin with. Never suspends.
  void SetDeadline(absl::Time deadline);
  void SetReadDeadline(absl::Time deadline);
  void SetWriteDeadline(absl::Time deadline);

  // Events of Select: reading (writing) would not block, or would fail. They take nothing, several
  // fibers may wait for the same, and they are hints: somebody else may be quicker. No result.
  [[nodiscard]] ReadyEvent OnReadable();
  [[nodiscard]] ReadyEvent OnWritable();

 protected:
  explicit IoHandle(internal::Ref<internal::OpenFile> file) : file_(std::move(file)) {}

  // Throws InvalidArgument if it is empty.
  internal::OpenFile& file(const char* verb) const {
    if (!file_) [[unlikely]] {
      internal::ThrowEmpty("csp::net", verb);
    }
    return *file_;
  }

 private:
  internal::Ref<internal::OpenFile> file_;
};

class ReadyEvent final : public SelectEvent, public internal::WatchCase {
 public:
  using Result = Unit;
  using WatchCase::WatchCase;

  Result Take() { return {}; }
};

}  // namespace csp::net

#endif  // CSP_NET_IO_HANDLE_H_
