#include "csp/net/unix_listener.h"

#include <utility>

#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/socket.h"
#include "csp/net/internal/system.h"

namespace csp::net {
namespace {

using internal::AtOnce;
using internal::OpenFile;
using internal::Ref;
using internal::TheSystem;

constexpr char kType[] = "UnixListener";

}  // namespace

absl::StatusOr<UnixListener> UnixListener::Listen(std::string_view address, int backlog) {
  const absl::StatusOr<UnixAddress> parsed = UnixAddress::Parse(address);
  if (!parsed.ok()) return parsed.status();
  return Listen(*parsed, backlog);
}

absl::StatusOr<UnixListener> UnixListener::Listen(const UnixAddress& address, int backlog) {
  absl::StatusOr<Ref<OpenFile>> file = internal::OpenSocket(AF_UNIX, SOCK_STREAM, kType, "Listen");
  if (!file.ok()) return file.status();
  UnixListener listener(*std::move(file));
  const ssize_t result = AtOnce(listener.file("Listen"), [&](int fd) {
    const int bound = TheSystem().Bind(fd, address.data(), address.size());
    return bound < 0 ? bound : TheSystem().Listen(fd, backlog);
  });
  if (result < 0) return internal::IoError(kType, "Listen", result);
  return listener;
}

absl::StatusOr<UnixListener> UnixListener::Adopt(int fd) {
  absl::StatusOr<Ref<OpenFile>> file = internal::AdoptSocket(fd, AF_UNIX, 0, SOCK_STREAM, kType);
  if (!file.ok()) return file.status();
  return UnixListener(*std::move(file));
}

absl::StatusOr<UnixAddress> UnixListener::local_address() const {
  return internal::LocalUnixAddress(file("local_address"));
}

}  // namespace csp::net
