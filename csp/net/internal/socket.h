// What all kinds of sockets share below their classes.
#ifndef CSP_NET_INTERNAL_SOCKET_H_
#define CSP_NET_INTERNAL_SOCKET_H_

#include <sys/socket.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csp/cancel/cancel_token.h"
#include "csp/net/endpoint.h"
#include "csp/net/internal/counted.h"
#include "csp/net/internal/open_file.h"
#include "csp/net/unix_address.h"

namespace csp::internal {

// A new socket for the class `type`, of which `verb` makes it.
absl::StatusOr<Ref<OpenFile>> OpenSocket(int domain, int socket_type, const char* type,
                                         const char* verb);

// The socket `fd`, made non-blocking; InvalidArgument if it is not of that type and one of these
// families (0: no second one), and `fd` stays the caller's.
absl::StatusOr<Ref<OpenFile>> AdoptSocket(int fd, int domain, int other_domain, int socket_type,
                                          const char* type);

absl::Status SetSocketOption(OpenFile& file, const char* verb, int level, int name, int value);

absl::Status Shutdown(OpenFile& file, const char* verb, int how);

absl::StatusOr<net::Endpoint> LocalEndpoint(OpenFile& file);
absl::StatusOr<net::Endpoint> PeerEndpoint(OpenFile& file);
absl::StatusOr<net::UnixAddress> LocalUnixAddress(OpenFile& file);
absl::StatusOr<net::UnixAddress> PeerUnixAddress(OpenFile& file);

// Two sockets that are connected with each other.
absl::StatusOr<std::pair<Ref<OpenFile>, Ref<OpenFile>>> OpenSocketPair(int socket_type,
                                                                       const char* type);

// Connects, and waits until that is done; DeadlineExceeded, the token's cause. Throws Cancelled.
absl::Status Connect(OpenFile& file, const sockaddr* address, socklen_t size, absl::Time deadline,
                     const CancelToken& token);

// For accept: true for an error of the connection that was at hand, or of the network on its way
// (accept(2)): the next one may be had at once.
bool IsOfOneConnection(int error);

}  // namespace csp::internal

#endif  // CSP_NET_INTERNAL_SOCKET_H_
