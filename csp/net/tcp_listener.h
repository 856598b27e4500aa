// A TCP port that is listened on.
//
//   absl::StatusOr<csp::net::TcpListener> listener = csp::net::TcpListener::Listen("127.0.0.1:8000");
//   if (!listener.ok()) …
//   for (csp::net::TcpStream&& conn : *listener) csp::Go(Serve, std::move(conn));
//   // after Close, or a fatal error, which listener->status() has
//
// The deadline of accepting is the read deadline.
#ifndef CSP_NET_TCP_LISTENER_H_
#define CSP_NET_TCP_LISTENER_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csp/net/endpoint.h"
#include "csp/net/io_handle.h"
#include "csp/net/tcp_stream.h"
#include "csp/select/select_event.h"

namespace csp::net {

struct ListenOptions {
  // How many connections may wait to be accepted; the system has a limit of its own
  // (net.core.somaxconn).
  int backlog = SOMAXCONN;
  // Listens though connections of an earlier listener still linger (SO_REUSEADDR).
  bool reuse_address = true;
  // Several listeners, also of other processes of the same user, share the port (SO_REUSEPORT).
  bool reuse_port = false;
  // Of an IPv6 address: no connections from IPv4 addresses. (":80" and "[::]:80" take both.)
  bool v6_only = false;
};

class TcpListener final : public IoHandle {
 public:
  class AcceptEvent;
  class Iterator;

  TcpListener() = default;

  // Listens on "host:port". ":80" is port 80 of every address of the machine, of IPv4 and IPv6 if it
  // has both; port 0 is one that the system chooses, see local_endpoint(). Of a name's addresses
  // the first is taken. Returns InvalidArgument, what Resolve returns, or the system's error. Throws
  // Cancelled (from looking up a name).
  static absl::StatusOr<TcpListener> Listen(std::string_view host_port,
                                            const ListenOptions& options = {});
  static absl::StatusOr<TcpListener> Listen(const Endpoint& endpoint,
                                            const ListenOptions& options = {});

  // Owns `fd`, a TCP socket that listens, from now on; as TcpStream::Adopt.
  static absl::StatusOr<TcpListener> Adopt(int fd);

  // Blocks until there is a connection. Connections that were lost while they waited are passed
  // over. Other errors leave the listener as it is: after EMFILE, ENFILE, ENOBUFS and ENOMEM, which
  // pass, the connection still waits. Throws Cancelled, having taken none.
  absl::StatusOr<TcpStream> Accept();

  // The same as an event of Select. If the case loses, no connection has been taken.
  [[nodiscard]] AcceptEvent OnAccept();
  // Accept would not block, or would fail; takes nothing. As OnReadable.
  [[nodiscard]] ReadyEvent OnAcceptable() { return OnReadable(); }

  absl::StatusOr<Endpoint> local_endpoint() const;

  // One connection after another. Where the system lacks means (EMFILE …) it tries again, at first
  // after 5 ms, then after ever longer times up to 100 ms, and the loop just waits. The loop ends when
  // the listener is closed, or by an error that does not pass. Throws Cancelled.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  // Why the last loop has ended: OK if the listener was closed. For whoever ran the loop.
  const absl::Status& status() const { return status_; }

 private:
  using IoHandle::IoHandle;

  static absl::StatusOr<TcpStream> Accepted(ssize_t fd, const char* verb);
  absl::StatusOr<TcpStream> AcceptPatiently();

  absl::Status status_;
};

class TcpListener::AcceptEvent final : public SelectEvent, public internal::IoCase {
 public:
  using Result = absl::StatusOr<TcpStream>;

  explicit AcceptEvent(internal::OpenFile& file);
  Result Take();

 private:
  ssize_t Try(int fd) override;
};

class TcpListener::Iterator {
 public:
  using value_type = TcpStream;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(TcpListener& listener) : listener_(&listener) { ++*this; }

  TcpStream&& operator*() { return std::move(stream_); }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.ended_; }

 private:
  TcpListener* listener_;
  TcpStream stream_;
  bool ended_ = false;
};

}  // namespace csp::net

#endif  // CSP_NET_TCP_LISTENER_H_
