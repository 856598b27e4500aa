// A connection within the machine: a stream over a Unix socket.
//
//   absl::StatusOr<csp::net::UnixStream> conn = csp::net::UnixStream::Dial("/run/app.sock");
//   if (!conn.ok()) …
//   absl::Status sent = conn->WriteAll("hello");
//
// Reading, writing, deadlines and events are those of ByteStream and IoHandle. Addresses are written
// as UnixAddress::Parse takes them: a path, or "@name".
#ifndef CSP_NET_UNIX_STREAM_H_
#define CSP_NET_UNIX_STREAM_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csp/net/byte_stream.h"
#include "csp/net/dial_options.h"
#include "csp/net/unix_address.h"

namespace csp::net {

template <class Stream>
class Listener;

class UnixStream final : public ByteStream {
 public:
  UnixStream() = default;

  // Connects. Where the listener's queue is full it tries again, at first after 1 ms, then after ever
  // longer times up to 50 ms: the system does not say when there is room. InvalidArgument, the
  // system's error (ECONNREFUSED: a file is there, but nobody listens; ENOENT: none is there),
  // DeadlineExceeded, the token's cause. Throws Cancelled. `fallback_delay` means nothing here.
  static absl::StatusOr<UnixStream> Dial(std::string_view address, const DialOptions& options = {});
  static absl::StatusOr<UnixStream> Dial(const UnixAddress& address,
                                         const DialOptions& options = {});

  // Two streams that are connected with each other. The system's error, EMFILE.
  static absl::StatusOr<std::pair<UnixStream, UnixStream>> Pair();

  // Owns `fd`, a connected Unix stream socket, from now on; as TcpStream::Adopt.
  static absl::StatusOr<UnixStream> Adopt(int fd);

  // As those of TcpStream.
  absl::Status CloseWrite();
  absl::Status CloseRead();

  // Unnamed if it has not been bound, as whoever dials is.
  absl::StatusOr<UnixAddress> local_address() const;
  absl::StatusOr<UnixAddress> peer_address() const;

 private:
  friend class Listener<UnixStream>;
  using ByteStream::ByteStream;

  static UnixStream Accepted(int fd);
};

}  // namespace csp::net

#endif  // CSP_NET_UNIX_STREAM_H_
