// A TCP connection.
//
//   absl::StatusOr<csp::net::TcpStream> conn =
//       csp::net::TcpStream::Dial("example.org:80", {.timeout = absl::Seconds(2)});
//   if (!conn.ok()) …
//   absl::Status sent = conn->WriteAll("GET / HTTP/1.0\r\n\r\n");
//   char buffer[4096];
//   absl::StatusOr<std::size_t> count = conn->Read(buffer);   // 0: the peer has no more to say
//
// Reading, writing, deadlines and events are those of ByteStream and IoHandle. Small writes are
// sent at once (TCP_NODELAY), unless SetNoDelay says otherwise; SIGPIPE is never raised.
#ifndef CSP_NET_TCP_STREAM_H_
#define CSP_NET_TCP_STREAM_H_

#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csp/net/byte_stream.h"
#include "csp/net/dial_options.h"
#include "csp/net/endpoint.h"

namespace csp::net {

template <class Stream>
class Listener;

class TcpStream final : public ByteStream {
 public:
  TcpStream() = default;

  // Connects to "host:port". Where the name has several addresses they are tried one after another,
  // each as soon as the one before has failed or `fallback_delay` has passed; the first that answers
  // wins, the others are given up. Returns the first address's error if none does; what Resolve
  // returns; DeadlineExceeded; the token's cause. Throws Cancelled.
  static absl::StatusOr<TcpStream> Dial(std::string_view host_port,
                                        const DialOptions& options = {});
  // The same without a lookup.
  static absl::StatusOr<TcpStream> Dial(std::span<const Endpoint> endpoints,
                                        const DialOptions& options = {});
  static absl::StatusOr<TcpStream> Dial(const Endpoint& endpoint, const DialOptions& options = {});

  // Owns `fd`, a connected TCP socket, from now on, and makes it non-blocking; see
  // Descriptor::Adopt. InvalidArgument if it is something else; `fd` stays the caller's then.
  static absl::StatusOr<TcpStream> Adopt(int fd);

  // Nothing more will be written: the peer reads the end of the stream, and may go on sending.
  absl::Status CloseWrite();
  // Nothing more will be read: reads return 0. (The peer is not told.)
  absl::Status CloseRead();

  // False: collects small writes for up to a round trip (Nagle's algorithm).
  absl::Status SetNoDelay(bool on);
  // Asks a silent peer after `idle`, then every `interval`, whether it is there, and after `probes`
  // times without an answer breaks the connection. Whole seconds, at least one.
  absl::Status SetKeepAlive(absl::Duration idle, absl::Duration interval, int probes);
  absl::Status StopKeepAlive();
  // What becomes of unsent data when the stream is closed. On: it is thrown away, and the peer's
  // calls fail (a reset). Off, as all begin: it is sent in the background.
  absl::Status SetResetOnClose(bool on);

  absl::StatusOr<Endpoint> local_endpoint() const;
  absl::StatusOr<Endpoint> peer_endpoint() const;

 private:
  friend class Listener<TcpStream>;
  class Dialler;
  class Race;
  using ByteStream::ByteStream;

  static TcpStream Accepted(int fd);
};

}  // namespace csp::net

#endif  // CSP_NET_TCP_STREAM_H_
