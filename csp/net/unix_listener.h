// A Unix socket that is listened on.
//
//   auto listener = csp::net::UnixListener::Listen("/run/app.sock");   // or "@app"
//   if (!listener.ok()) …
//   for (csp::net::UnixStream&& conn : *listener) csp::Go(Serve, std::move(conn));
//
// Accepting, its event and the loop are those of Listener.
#ifndef CSP_NET_UNIX_LISTENER_H_
#define CSP_NET_UNIX_LISTENER_H_

#include <sys/socket.h>

#include <string_view>

#include "absl/status/statusor.h"
#include "csp/net/listener.h"
#include "csp/net/unix_address.h"
#include "csp/net/unix_stream.h"

namespace csp::net {

class UnixListener final : public Listener<UnixStream> {
 public:
  UnixListener() = default;

  // Listens at that address; the file of a path is made, and must not be there: remove what an earlier
  // listener has left, and what this one leaves. `backlog` is how many connections may wait to be
  // accepted. InvalidArgument, or the system's error (EADDRINUSE).
  static absl::StatusOr<UnixListener> Listen(std::string_view address, int backlog = SOMAXCONN);
  static absl::StatusOr<UnixListener> Listen(const UnixAddress& address, int backlog = SOMAXCONN);

  // Owns `fd`, a Unix stream socket that listens, from now on; as TcpStream::Adopt.
  static absl::StatusOr<UnixListener> Adopt(int fd);

  absl::StatusOr<UnixAddress> local_address() const;

 private:
  using Listener::Listener;
};

}  // namespace csp::net

#endif  // CSP_NET_UNIX_LISTENER_H_
