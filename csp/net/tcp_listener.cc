#include "csp/net/tcp_listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/local_address.h"
#include "csp/net/internal/socket.h"
#include "csp/net/internal/system.h"

namespace csp::net {
namespace {

using internal::OpenFile;
using internal::Ref;
using internal::SetSocketOption;
using internal::TheSystem;

constexpr char kType[] = "TcpListener";

absl::Status SetUp(OpenFile& file, const Endpoint& endpoint, const ListenOptions& options) {
  absl::Status status =
      SetSocketOption(file, "Listen", SOL_SOCKET, SO_REUSEADDR, options.reuse_address ? 1 : 0);
  if (options.reuse_port) {
    status.Update(SetSocketOption(file, "Listen", SOL_SOCKET, SO_REUSEPORT, 1));
  }
  if (endpoint.is_v6()) {
    status.Update(
        SetSocketOption(file, "Listen", IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only ? 1 : 0));
  }
  if (!status.ok()) return status;
  const ssize_t bound = internal::AtOnce(
      file, [&](int fd) { return TheSystem().Bind(fd, endpoint.data(), endpoint.size()); });
  if (bound < 0) return internal::IoError(kType, "Listen", bound);
  return internal::OkOrError(kType, "Listen", internal::AtOnce(file, [&](int fd) {
                               return TheSystem().Listen(fd, options.backlog);
                             }));
}

}  // namespace

absl::StatusOr<TcpListener> TcpListener::Listen(std::string_view host_port,
                                                const ListenOptions& options) {
  return internal::WithLocalAddress(
      host_port, [&](const Endpoint& endpoint) { return Listen(endpoint, options); });
}

absl::StatusOr<TcpListener> TcpListener::Listen(const Endpoint& endpoint,
                                                const ListenOptions& options) {
  absl::StatusOr<Ref<OpenFile>> file =
      internal::OpenSocket(endpoint.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM, kType, "Listen");
  if (!file.ok()) return file.status();
  TcpListener listener(*std::move(file));
  absl::Status status = SetUp(listener.file("Listen"), endpoint, options);
  if (!status.ok()) return status;
  return listener;
}

absl::StatusOr<TcpListener> TcpListener::Adopt(int fd) {
  absl::StatusOr<Ref<OpenFile>> file =
      internal::AdoptSocket(fd, AF_INET, AF_INET6, SOCK_STREAM, kType);
  if (!file.ok()) return file.status();
  return TcpListener(*std::move(file));
}

absl::StatusOr<Endpoint> TcpListener::local_endpoint() const {
  return internal::LocalEndpoint(file("local_endpoint"));
}

}  // namespace csp::net
