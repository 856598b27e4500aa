#include "csp/net/tcp_listener.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/local_address.h"
#include "csp/net/internal/socket.h"
#include "csp/net/internal/system.h"
#include "csp/net/io_status.h"
#include "csp/time/time.h"

namespace csp::net {
namespace {

using internal::Direction;
using internal::OpenFile;
using internal::Ref;
using internal::SetSocketOption;
using internal::TheSystem;

constexpr char kType[] = "TcpListener";
constexpr ParkReason kAccept{"Accept", "net"};

constexpr absl::Duration kFirstPause = absl::Milliseconds(5);
constexpr absl::Duration kLongestPause = absl::Milliseconds(100);

ssize_t TryAccept(int fd) {
  for (;;) {
    const int result = TheSystem().Accept(fd, nullptr, nullptr);
    if (result >= 0 || !internal::IsOfOneConnection(-result)) return result;
  }
}

// True for a lack of descriptors or memory, which others may give back.
bool Passes(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

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

// --- Making one.

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

// --- Accepting.

absl::StatusOr<TcpStream> TcpListener::Accept() {
  OpenFile& f = file("Accept");
  return Accepted(internal::Perform(f, Direction::kRead, kAccept, &TryAccept), "Accept");
}

absl::StatusOr<TcpStream> TcpListener::Accepted(ssize_t fd, const char* verb) {
  if (fd < 0) return internal::IoError(kType, verb, fd);
  TcpStream stream(
      Ref<OpenFile>(new OpenFile(static_cast<int>(fd), OpenFile::Kind::kSocket, "TcpStream")));
  (void)stream.SetNoDelay(true);
  return stream;
}

TcpListener::AcceptEvent TcpListener::OnAccept() { return AcceptEvent(file("OnAccept")); }

TcpListener::AcceptEvent::AcceptEvent(OpenFile& file)
    : IoCase(file, Direction::kRead, kAccept, /*hopeless_first=*/false) {}

ssize_t TcpListener::AcceptEvent::Try(int fd) { return TryAccept(fd); }

TcpListener::AcceptEvent::Result TcpListener::AcceptEvent::Take() {
  return Accepted(result(), "OnAccept");
}

// --- One after another.

TcpListener::Iterator TcpListener::begin() {
  status_ = absl::OkStatus();
  return Iterator(*this);
}

TcpListener::Iterator& TcpListener::Iterator::operator++() {
  absl::StatusOr<TcpStream> next = listener_->AcceptPatiently();
  ended_ = !next.ok();
  if (next.ok()) {
    stream_ = *std::move(next);
  } else if (!IsClosed(next.status())) {
    listener_->status_ = next.status();
  }
  return *this;
}

absl::StatusOr<TcpStream> TcpListener::AcceptPatiently() {
  for (absl::Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    absl::StatusOr<TcpStream> stream = Accept();
    if (stream.ok() || !Passes(ErrnoOf(stream.status()))) return stream;
    csp::SleepFor(pause);
  }
}

}  // namespace csp::net
