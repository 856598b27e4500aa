#include "csp/net/unix_datagram.h"

#include <sys/socket.h>

#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/socket.h"
#include "csp/net/internal/system.h"

namespace csp::net {
namespace {

using internal::AtOnce;
using internal::OkOrError;
using internal::OpenFile;
using internal::Ref;
using internal::TheSystem;

constexpr char kType[] = "UnixDatagram";

}  // namespace

absl::StatusOr<UnixDatagram> UnixDatagram::Bind(std::string_view address) {
  const absl::StatusOr<UnixAddress> parsed = UnixAddress::Parse(address);
  if (!parsed.ok()) return parsed.status();
  return Bind(*parsed);
}

absl::StatusOr<UnixDatagram> UnixDatagram::Bind(const UnixAddress& address) {
  absl::StatusOr<Ref<OpenFile>> file = internal::OpenSocket(AF_UNIX, SOCK_DGRAM, kType, "Bind");
  if (!file.ok()) return file.status();
  UnixDatagram socket(*std::move(file));
  const ssize_t bound = AtOnce(socket.file("Bind"), [&](int fd) {
    return TheSystem().Bind(fd, address.data(), address.size());
  });
  if (bound < 0) return internal::IoError(kType, "Bind", bound);
  return socket;
}

absl::StatusOr<UnixDatagram> UnixDatagram::Unbound() {
  absl::StatusOr<Ref<OpenFile>> file = internal::OpenSocket(AF_UNIX, SOCK_DGRAM, kType, "Unbound");
  if (!file.ok()) return file.status();
  return UnixDatagram(*std::move(file));
}

absl::StatusOr<std::pair<UnixDatagram, UnixDatagram>> UnixDatagram::Pair() {
  auto files = internal::OpenSocketPair(SOCK_DGRAM, kType);
  if (!files.ok()) return files.status();
  return std::pair(UnixDatagram(std::move(files->first)), UnixDatagram(std::move(files->second)));
}

absl::StatusOr<UnixDatagram> UnixDatagram::Adopt(int fd) {
  absl::StatusOr<Ref<OpenFile>> file = internal::AdoptSocket(fd, AF_UNIX, 0, SOCK_DGRAM, kType);
  if (!file.ok()) return file.status();
  return UnixDatagram(*std::move(file));
}

absl::Status UnixDatagram::Connect(const UnixAddress& peer) {
  return OkOrError(kType, "Connect", AtOnce(file("Connect"), [&](int fd) {
                     return TheSystem().Connect(fd, peer.data(), peer.size());
                   }));
}

absl::StatusOr<UnixAddress> UnixDatagram::local_address() const {
  return internal::LocalUnixAddress(file("local_address"));
}

absl::StatusOr<UnixAddress> UnixDatagram::peer_address() const {
  return internal::PeerUnixAddress(file("peer_address"));
}

}  // namespace csp::net
