// What "host:port" means to a socket that is bound there.
#ifndef CSP_NET_INTERNAL_LOCAL_ADDRESS_H_
#define CSP_NET_INTERNAL_LOCAL_ADDRESS_H_

#include <errno.h>
#include <netinet/in.h>

#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "csp/net/endpoint.h"
#include "csp/net/io_status.h"
#include "csp/net/resolve.h"

namespace csp::internal {

// What `open` returns, a StatusOr, for the address. Without a host that is every address of the
// machine: of IPv6, which takes IPv4 as well, or of IPv4 if there is no IPv6. Of a name's addresses
// it is the first. Throws Cancelled (from looking up a name).
template <class Open>
std::invoke_result_t<Open&, const net::Endpoint&> WithLocalAddress(std::string_view host_port,
                                                                   Open open) {
  const absl::StatusOr<net::HostPort> parts = net::SplitHostPort(host_port);
  if (!parts.ok()) return parts.status();
  if (parts->host.empty()) {
    auto both = open(net::Endpoint(in6addr_any, parts->port));
    const int error = net::ErrnoOf(both.status());
    if (error != EAFNOSUPPORT && error != EADDRNOTAVAIL) return both;
    return open(net::Endpoint(in_addr{}, parts->port));
  }
  const absl::StatusOr<std::vector<net::Endpoint>> endpoints = net::Resolve(host_port);
  if (!endpoints.ok()) return endpoints.status();
  return open(endpoints->front());
}

}  // namespace csp::internal

#endif  // CSP_NET_INTERNAL_LOCAL_ADDRESS_H_
