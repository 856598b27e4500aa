// From names to addresses.
//
//   absl::StatusOr<std::vector<csp::net::Endpoint>> found = csp::net::Resolve("example.org:80");
//
// The system's resolver (getaddrinfo: /etc/hosts, DNS, whatever the machine is set up for) is asked
// on a thread of the blocking pool. Whoever gives up waiting, by a deadline or because he is
// cancelled, leaves at once; the lookup then runs out alone.
#ifndef CSP_NET_RESOLVE_H_
#define CSP_NET_RESOLVE_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csp/cancel/cancel_token.h"
#include "csp/net/endpoint.h"

namespace csp::net {

// The addresses of "host:port", at least one, in the order in which they should be tried: the
// resolver's (RFC 6724), but the families take turns (RFC 8305). An address is returned as it is,
// without asking anybody.
// InvalidArgument if it cannot be read, NotFound if there is no such name, Unavailable if the
// resolver has no answer for now, DeadlineExceeded, the token's cause. Throws Cancelled.
absl::StatusOr<std::vector<Endpoint>> Resolve(std::string_view host_port,
                                              absl::Time deadline = absl::InfiniteFuture(),
                                              const CancelToken& token = {});

}  // namespace csp::net

#endif  // CSP_NET_RESOLVE_H_
