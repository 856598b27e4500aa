#include "csp/net/internal/socket.h"

#include <errno.h>
#include <fcntl.h>

#include "absl/strings/str_cat.h"
#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/system.h"
#include "csp/net/io_handle.h"
#include "csp/select/select.h"
#include "csp/time/time.h"

namespace csp::internal {
namespace {

// What `call` says, getsockname or getpeername.
template <class Address>
absl::StatusOr<Address> AddressOf(OpenFile& file, const char* verb,
                                  int (System::*call)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  const ssize_t result =
      AtOnce(file, [&](int fd) { return (TheSystem().*call)(fd, address, &size); });
  if (result < 0) return IoError(file.type(), verb, result);
  return Address::From(address, size);
}

int IntOption(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  const int result = TheSystem().GetOption(fd, SOL_SOCKET, name, &value, &size);
  return result < 0 ? result : value;
}

// What has become of a connection that was in progress: 0 if it stands, -EINPROGRESS if that is
// still open, else the error. (The reactor's word that it is writable may be out of date.)
ssize_t ConnectionState(int fd) {
  const int error = IntOption(fd, SO_ERROR);
  if (error != 0) return error < 0 ? error : -error;
  sockaddr_storage peer;
  socklen_t size = sizeof peer;
  const int result = TheSystem().PeerName(fd, reinterpret_cast<sockaddr*>(&peer), &size);
  return result == -ENOTCONN ? -EINPROGRESS : result;
}

}  // namespace

absl::StatusOr<Ref<OpenFile>> OpenSocket(int domain, int socket_type, const char* type,
                                         const char* verb) {
  const int fd = Uninterrupted([&] { return TheSystem().Socket(domain, socket_type, 0); });
  if (fd < 0) return IoError(type, verb, fd);
  return Ref<OpenFile>(new OpenFile(fd, OpenFile::Kind::kSocket, type));
}

absl::StatusOr<Ref<OpenFile>> AdoptSocket(int fd, int domain, int other_domain, int socket_type,
                                          const char* type) {
  const int family = IntOption(fd, SO_DOMAIN);
  if (family < 0 && family != -ENOTSOCK) return IoError(type, "Adopt", family);
  if ((family != domain && family != other_domain) || IntOption(fd, SO_TYPE) != socket_type) {
    return absl::InvalidArgumentError(
        absl::StrCat(type, "::Adopt: the descriptor is something else; try Descriptor::Adopt"));
  }
  const int flags = TheSystem().Flags(fd);
  const bool was_blocking = flags >= 0 && (flags & O_NONBLOCK) == 0;
  const int result = was_blocking ? TheSystem().SetFlags(fd, flags | O_NONBLOCK) : flags;
  if (result < 0) return IoError(type, "Adopt", result);
  Ref<OpenFile> file(new OpenFile(fd, OpenFile::Kind::kSocket, type));
  if (was_blocking) file->RestoreBlocking();
  return file;
}

absl::Status SetSocketOption(OpenFile& file, const char* verb, int level, int name, int value) {
  return OkOrError(file.type(), verb, AtOnce(file, [&](int fd) {
                     return TheSystem().SetOption(fd, level, name, &value, sizeof value);
                   }));
}

absl::Status Shutdown(OpenFile& file, const char* verb, int how) {
  return OkOrError(file.type(), verb,
                   AtOnce(file, [&](int fd) { return TheSystem().Shutdown(fd, how); }));
}

absl::StatusOr<net::Endpoint> LocalEndpoint(OpenFile& file) {
  return AddressOf<net::Endpoint>(file, "local_endpoint", &System::LocalName);
}

absl::StatusOr<net::Endpoint> PeerEndpoint(OpenFile& file) {
  return AddressOf<net::Endpoint>(file, "peer_endpoint", &System::PeerName);
}

absl::StatusOr<net::UnixAddress> LocalUnixAddress(OpenFile& file) {
  return AddressOf<net::UnixAddress>(file, "local_address", &System::LocalName);
}

absl::StatusOr<net::UnixAddress> PeerUnixAddress(OpenFile& file) {
  return AddressOf<net::UnixAddress>(file, "peer_address", &System::PeerName);
}

absl::StatusOr<std::pair<Ref<OpenFile>, Ref<OpenFile>>> OpenSocketPair(int socket_type,
                                                                       const char* type) {
  int fds[2];
  const int result =
      Uninterrupted([&] { return TheSystem().SocketPair(AF_UNIX, socket_type, 0, fds); });
  if (result < 0) return IoError(type, "Pair", result);
  const auto open = [&](int fd) {
    return Ref<OpenFile>(new OpenFile(fd, OpenFile::Kind::kSocket, type));
  };
  return std::pair(open(fds[0]), open(fds[1]));
}

absl::Status Connect(OpenFile& file, const sockaddr* address, socklen_t size, absl::Time deadline,
                     const CancelToken& token) {
  static constexpr ParkReason kReason{"Dial", "net"};
  ssize_t state = AtOnce(file, [&](int fd) { return TheSystem().Connect(fd, address, size); });
  if (state == -EALREADY) state = -EINPROGRESS;  // a signal came, and the call was made again
  if (state == -EISCONN) state = 0;
  while (state == -EINPROGRESS) {
    absl::Status given_up = Select(
        net::ReadyEvent(file, Direction::kWrite, kReason) >> [] { return absl::OkStatus(); },
        OnDeadline(deadline) >> [&] { return IoError(file.type(), "Dial", kDeadlineResult); },
        token.OnDone() >> [&] { return token.cause(); });
    if (!given_up.ok()) return given_up;
    state = AtOnce(file, [](int fd) { return ConnectionState(fd); });
  }
  return OkOrError(file.type(), "Dial", state);
}

bool IsOfOneConnection(int error) {
  switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case EPERM:  // refused by a firewall
      return true;
    default:
      return false;
  }
}

}  // namespace csp::internal
