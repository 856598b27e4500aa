// Datagrams within the machine, over a Unix socket. They arrive whole, in order, and are not lost:
// Send waits while the receiver's queue is full. SendTo, to one that is not connected to, does not,
// since the system would not say when there is room, and returns ENOBUFS.
//
//   auto socket = csp::net::UnixDatagram::Bind("/run/log.sock");   // or "@log"
//   if (!socket.ok()) …
//   char buffer[8192];
//   auto got = socket->RecvFrom(buffer);      // got->from is unnamed if the sender is not bound
//
// Receiving, sending and their events are those of DatagramSocket.
#ifndef CSP_NET_UNIX_DATAGRAM_H_
#define CSP_NET_UNIX_DATAGRAM_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csp/net/datagram_socket.h"
#include "csp/net/unix_address.h"

namespace csp::net {

class UnixDatagram final : public DatagramSocket<UnixAddress> {
 public:
  UnixDatagram() = default;

  // Receives at that address; the file of a path is made, and must not be there (EADDRINUSE).
  // InvalidArgument, or the system's error.
  static absl::StatusOr<UnixDatagram> Bind(std::string_view address);
  static absl::StatusOr<UnixDatagram> Bind(const UnixAddress& address);
  // A socket without a name, to send from; nobody can answer it. The system's error, EMFILE.
  static absl::StatusOr<UnixDatagram> Unbound();
  // Two that are connected with each other. The system's error, EMFILE.
  static absl::StatusOr<std::pair<UnixDatagram, UnixDatagram>> Pair();

  // Owns `fd`, a Unix datagram socket, from now on; as TcpStream::Adopt.
  static absl::StatusOr<UnixDatagram> Adopt(int fd);

  // Makes `peer` the one to Send to, and the only one whose datagrams are received. It must be there
  // (ENOENT, ECONNREFUSED).
  absl::Status Connect(const UnixAddress& peer);

  absl::StatusOr<UnixAddress> local_address() const;
  // ENOTCONN if there is none.
  absl::StatusOr<UnixAddress> peer_address() const;

 private:
  using DatagramSocket::DatagramSocket;
};

}  // namespace csp::net

#endif  // CSP_NET_UNIX_DATAGRAM_H_
