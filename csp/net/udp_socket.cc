#include "csp/net/udp_socket.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/local_address.h"
#include "csp/net/internal/socket.h"
#include "csp/net/internal/system.h"

namespace csp::net {
namespace {

using internal::AtOnce;
using internal::OkOrError;
using internal::OpenFile;
using internal::Ref;
using internal::SetSocketOption;
using internal::TheSystem;

constexpr char kType[] = "UdpSocket";

absl::Status SetUp(OpenFile& file, const Endpoint& endpoint, const UdpOptions& options) {
  absl::Status status;
  if (options.reuse_address) {
    status.Update(SetSocketOption(file, "Bind", SOL_SOCKET, SO_REUSEADDR, 1));
  }
  if (options.reuse_port) {
    status.Update(SetSocketOption(file, "Bind", SOL_SOCKET, SO_REUSEPORT, 1));
  }
  if (endpoint.is_v6()) {
    status.Update(
        SetSocketOption(file, "Bind", IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only ? 1 : 0));
  }
  if (!status.ok()) return status;
  return OkOrError(kType, "Bind", AtOnce(file, [&](int fd) {
                     return TheSystem().Bind(fd, endpoint.data(), endpoint.size());
                   }));
}

// Its number; 0 if the name is empty.
absl::StatusOr<std::uint32_t> InterfaceOf(const char* verb, std::string_view name) {
  const std::uint32_t number = name.empty() ? 0 : if_nametoindex(std::string(name).c_str());
  if (number != 0 || name.empty()) return number;
  return absl::NotFoundError(
      absl::StrCat(kType, "::", verb, ": there is no interface \"", name, "\""));
}

absl::Status ChangeGroup(OpenFile& file, const char* verb, int name, const Endpoint& group,
                         std::string_view interface) {
  const absl::StatusOr<std::uint32_t> number = InterfaceOf(verb, interface);
  if (!number.ok()) return number.status();
  group_req request{};
  request.gr_interface = *number != 0 ? *number : group.scope();
  std::memcpy(&request.gr_group, group.data(), group.size());
  return OkOrError(kType, verb, AtOnce(file, [&](int fd) {
                     return TheSystem().SetOption(fd, group.is_v6() ? IPPROTO_IPV6 : IPPROTO_IP,
                                                  name, &request, sizeof request);
                   }));
}

}  // namespace

absl::StatusOr<UdpSocket> UdpSocket::Bind(std::string_view host_port, const UdpOptions& options) {
  return internal::WithLocalAddress(
      host_port, [&](const Endpoint& endpoint) { return Bind(endpoint, options); });
}

absl::StatusOr<UdpSocket> UdpSocket::Bind(const Endpoint& endpoint, const UdpOptions& options) {
  absl::StatusOr<Ref<OpenFile>> file =
      internal::OpenSocket(endpoint.is_v6() ? AF_INET6 : AF_INET, SOCK_DGRAM, kType, "Bind");
  if (!file.ok()) return file.status();
  UdpSocket socket(*std::move(file));
  absl::Status status = SetUp(socket.file("Bind"), endpoint, options);
  if (!status.ok()) return status;
  return socket;
}

absl::StatusOr<UdpSocket> UdpSocket::Adopt(int fd) {
  absl::StatusOr<Ref<OpenFile>> file =
      internal::AdoptSocket(fd, AF_INET, AF_INET6, SOCK_DGRAM, kType);
  if (!file.ok()) return file.status();
  return UdpSocket(*std::move(file));
}

absl::Status UdpSocket::Connect(const Endpoint& peer) {
  return OkOrError(kType, "Connect", AtOnce(file("Connect"), [&](int fd) {
                     return TheSystem().Connect(fd, peer.data(), peer.size());
                   }));
}

absl::StatusOr<Endpoint> UdpSocket::local_endpoint() const {
  return internal::LocalEndpoint(file("local_endpoint"));
}

absl::StatusOr<Endpoint> UdpSocket::peer_endpoint() const {
  return internal::PeerEndpoint(file("peer_endpoint"));
}

// --- Groups.

absl::Status UdpSocket::JoinMulticast(const Endpoint& group, std::string_view interface) {
  return ChangeGroup(file("JoinMulticast"), "JoinMulticast", MCAST_JOIN_GROUP, group, interface);
}

absl::Status UdpSocket::LeaveMulticast(const Endpoint& group, std::string_view interface) {
  return ChangeGroup(file("LeaveMulticast"), "LeaveMulticast", MCAST_LEAVE_GROUP, group, interface);
}

absl::Status UdpSocket::SetMulticastInterface(std::string_view interface) {
  constexpr char kVerb[] = "SetMulticastInterface";
  const absl::StatusOr<std::uint32_t> number = InterfaceOf(kVerb, interface);
  if (!number.ok()) return number.status();
  const absl::StatusOr<Endpoint> local = local_endpoint();
  if (!local.ok()) return local.status();
  const int index = static_cast<int>(*number);
  if (local->is_v6()) {
    return SetSocketOption(file(kVerb), kVerb, IPPROTO_IPV6, IPV6_MULTICAST_IF, index);
  }
  ip_mreqn request{};
  request.imr_ifindex = index;
  return OkOrError(kType, kVerb, AtOnce(file(kVerb), [&](int fd) {
                     return TheSystem().SetOption(fd, IPPROTO_IP, IP_MULTICAST_IF, &request,
                                                  sizeof request);
                   }));
}

absl::Status UdpSocket::SetMulticastTtl(int hops) {
  return SetMulticastOption("SetMulticastTtl", IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, hops);
}

absl::Status UdpSocket::SetMulticastLoop(bool on) {
  return SetMulticastOption("SetMulticastLoop", IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, on ? 1 : 0);
}

absl::Status UdpSocket::SetMulticastOption(const char* verb, int v4_name, int v6_name, int value) {
  OpenFile& f = file(verb);
  const absl::StatusOr<Endpoint> local = local_endpoint();
  if (!local.ok()) return local.status();
  return local->is_v6() ? SetSocketOption(f, verb, IPPROTO_IPV6, v6_name, value)
                        : SetSocketOption(f, verb, IPPROTO_IP, v4_name, value);
}

absl::Status UdpSocket::SetBroadcast(bool on) {
  return SetSocketOption(file("SetBroadcast"), "SetBroadcast", SOL_SOCKET, SO_BROADCAST,
                         on ? 1 : 0);
}

}  // namespace csp::net
