// A UDP socket.
//
//   absl::StatusOr<csp::net::UdpSocket> socket = csp::net::UdpSocket::Bind("127.0.0.1:5353");
//   if (!socket.ok()) …
//   char buffer[1500];
//   auto got = socket->RecvFrom(buffer);
//   if (got.ok() && !got->truncated()) (void)socket->SendTo(Bytes(buffer, got->size), got->from);
//
// Receiving, sending and their events are those of DatagramSocket.
#ifndef CSP_NET_UDP_SOCKET_H_
#define CSP_NET_UDP_SOCKET_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csp/net/datagram_socket.h"
#include "csp/net/endpoint.h"

namespace csp::net {

struct UdpOptions {
  // Several sockets, also of other processes, have the port (SO_REUSEADDR): each gets what is sent to
  // a multicast group or is broadcast, one of them all else.
  bool reuse_address = false;
  // Several sockets, also of other processes of the same user, share the port (SO_REUSEPORT): what
  // one sender sends goes to one of them.
  bool reuse_port = false;
  // Of an IPv6 address: nothing from IPv4 addresses. (":53" and "[::]:53" take both.)
  bool v6_only = false;
};

class UdpSocket final : public DatagramSocket<Endpoint> {
 public:
  UdpSocket() = default;

  // Receives at "host:port"; ":53", port 0 and names are as for TcpListener::Listen. A socket of an
  // IPv4 address sends to IPv4 only, one of an IPv6 address to IPv6 only, where IPv4 addresses are
  // written as "[::ffff:192.0.2.1]:53"; so are its senders'. A client binds "0.0.0.0:0" or "[::]:0".
  static absl::StatusOr<UdpSocket> Bind(std::string_view host_port, const UdpOptions& options = {});
  static absl::StatusOr<UdpSocket> Bind(const Endpoint& endpoint, const UdpOptions& options = {});

  // Owns `fd`, a UDP socket, from now on; as TcpStream::Adopt.
  static absl::StatusOr<UdpSocket> Adopt(int fd);

  // Makes `peer` the one to Send to and to receive from, in place of an earlier one. Nothing is sent,
  // so nobody need be there.
  absl::Status Connect(const Endpoint& peer);

  // Receives what is sent to the group (its port does not matter), as it arrives on the interface of
  // that name, "eth0"; without a name the system chooses one, by its routes. NotFound if there is no
  // such interface. Receiving takes a socket that is bound to all addresses, or to the group's.
  absl::Status JoinMulticast(const Endpoint& group, std::string_view interface = {});
  absl::Status LeaveMulticast(const Endpoint& group, std::string_view interface = {});
  // What is sent to a group leaves by this interface.
  absl::Status SetMulticastInterface(std::string_view interface);
  // ... crosses fewer than so many routers: 1, as all begin, is the local network, 0 this machine; up
  // to 255.
  absl::Status SetMulticastTtl(int hops);
  // ... also comes to receivers on this machine; as all begin.
  absl::Status SetMulticastLoop(bool on);

  // Allows sending to broadcast addresses, which else is EACCES. IPv4 only.
  absl::Status SetBroadcast(bool on);

  absl::StatusOr<Endpoint> local_endpoint() const;
  // ENOTCONN if there is none.
  absl::StatusOr<Endpoint> peer_endpoint() const;

 private:
  using DatagramSocket::DatagramSocket;

  absl::Status SetMulticastOption(const char* verb, int v4_name, int v6_name, int value);
};

}  // namespace csp::net

#endif  // CSP_NET_UDP_SOCKET_H_
