// A socket that is listened on: what TcpListener and UnixListener have in common.
//
//   verb            event
//   Accept          OnAccept
//
// The deadline of accepting is the read deadline.
#ifndef CSP_NET_LISTENER_H_
#define CSP_NET_LISTENER_H_

#include <sys/types.h>

#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csp/net/io_handle.h"
#include "csp/select/select_event.h"

namespace csp::net {

template <class Stream>
class Listener : public IoHandle {
 public:
  class AcceptEvent;
  class Iterator;

  // Blocks until there is a connection. Connections that were lost while they waited are passed
  // over. Other errors leave the listener as it is: after EMFILE, ENFILE, ENOBUFS and ENOMEM, which
  // pass, the connection still waits. Throws Cancelled, having taken none.
  absl::StatusOr<Stream> Accept();

  // The same as an event of Select. If the case loses, no connection has been taken.
  [[nodiscard]] AcceptEvent OnAccept();
  // Accept would not block, or would fail; takes nothing. As OnReadable.
  [[nodiscard]] ReadyEvent OnAcceptable() { return OnReadable(); }

  // One connection after another. Where the system lacks means (EMFILE …) it tries again, at first
  // after 5 ms, then after ever longer times up to 100 ms, and the loop just waits. The loop ends when
  // the listener is closed, or by an error that does not pass. Throws Cancelled.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  // Why the last loop has ended: OK if the listener was closed. For whoever ran the loop.
  const absl::Status& status() const { return status_; }

 protected:
  Listener() = default;
  using IoHandle::IoHandle;

 private:
  static absl::StatusOr<Stream> Accepted(const char* type, const char* verb, ssize_t fd);
  absl::StatusOr<Stream> AcceptPatiently();

  absl::Status status_;
};

template <class Stream>
class Listener<Stream>::AcceptEvent final : public SelectEvent, public internal::IoCase {
 public:
  using Result = absl::StatusOr<Stream>;

  explicit AcceptEvent(internal::OpenFile& file);
  Result Take();

 private:
  ssize_t Try(int fd) override;
};

template <class Stream>
class Listener<Stream>::Iterator {
 public:
  using value_type = Stream;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(Listener& listener) : listener_(&listener) { ++*this; }

  Stream&& operator*() { return std::move(stream_); }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.ended_; }

 private:
  Listener* listener_;
  Stream stream_;
  bool ended_ = false;
};

}  // namespace csp::net

#endif  // CSP_NET_LISTENER_H_
