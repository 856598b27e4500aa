// A TCP port that is listened on.
//
//   absl::StatusOr<csp::net::TcpListener> listener = csp::net::TcpListener::Listen("127.0.0.1:8000");
//   if (!listener.ok()) …
//   for (csp::net::TcpStream&& conn : *listener) csp::Go(Serve, std::move(conn));
//   // after Close, or a fatal error, which listener->status() has
//
// Accepting, its event and the loop are those of Listener.
#ifndef CSP_NET_TCP_LISTENER_H_
#define CSP_NET_TCP_LISTENER_H_

#include <sys/socket.h>

#include <string_view>

#include "absl/status/statusor.h"
#include "csp/net/endpoint.h"
#include "csp/net/listener.h"
#include "csp/net/tcp_stream.h"

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

class TcpListener final : public Listener<TcpStream> {
 public:
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

  absl::StatusOr<Endpoint> local_endpoint() const;

 private:
  using Listener::Listener;
};

}  // namespace csp::net

#endif  // CSP_NET_TCP_LISTENER_H_
