// An IP address and a port: one end of a connection.
//
//   absl::StatusOr<csp::net::Endpoint> e = csp::net::Endpoint::Parse("[::1]:8080");
//   e->ToString()                                            // "[::1]:8080"
//
// What is written is taken by the letter: no spaces, no leading zeros in a number, no missing parts,
// no IPv6 address without brackets, no names (for these see resolve.h).
#ifndef CSP_NET_ENDPOINT_H_
#define CSP_NET_ENDPOINT_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace csp::net {

class Endpoint {
 public:
  // 0.0.0.0:0.
  Endpoint() : Endpoint(in_addr{}, 0) {}
  Endpoint(const in_addr& ip, std::uint16_t port);
  Endpoint(const in6_addr& ip, std::uint16_t port, std::uint32_t scope = 0);

  // "192.0.2.1:80", "[2001:db8::1]:80", "[fe80::1%eth0]:80". InvalidArgument, saying what is wrong.
  static absl::StatusOr<Endpoint> Parse(std::string_view text);
  // The same with the two apart: `ip` is "192.0.2.1", "2001:db8::1" or "fe80::1%eth0".
  static absl::StatusOr<Endpoint> Parse(std::string_view ip, std::uint16_t port);
  // What the system has given; InvalidArgument if it is of no IP family.
  static absl::StatusOr<Endpoint> From(const sockaddr* address, socklen_t size);

  bool is_v6() const { return address_.any.sa_family == AF_INET6; }
  // 127.0.0.0/8 and ::1.
  bool is_loopback() const;
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  // Of a link-local IPv6 address, the number of the interface; else 0.
  std::uint32_t scope() const { return is_v6() ? address_.v6.sin6_scope_id : 0; }
  // Without the port and without brackets.
  std::string ip() const;
  // As Parse reads it.
  std::string ToString() const;

  // For system calls.
  const sockaddr* data() const { return &address_.any; }
  socklen_t size() const { return is_v6() ? sizeof address_.v6 : sizeof address_.v4; }

  friend bool operator==(const Endpoint& a, const Endpoint& b);

  template <class H>
  friend H AbslHashValue(H state, const Endpoint& endpoint) {
    return H::combine(std::move(state), endpoint.ToString());
  }

 private:
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } address_;
};

// "host:port" apart. The host is what stands before the last colon, without brackets; it may be
// empty. InvalidArgument, saying what is wrong, if there is no port, or it is no number from 0 to
// 65535, or an IPv6 address stands there without brackets.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
absl::StatusOr<HostPort> SplitHostPort(std::string_view text);

}  // namespace csp::net

#endif  // CSP_NET_ENDPOINT_H_
