#include "csp/net/tcp_stream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "csp/net/internal/io_case.h"
#include "csp/net/internal/socket.h"
#include "csp/net/internal/system.h"

namespace csp::net {
namespace {

using internal::OpenFile;
using internal::Ref;
using internal::SetSocketOption;
using internal::Shutdown;
using internal::TheSystem;

constexpr char kType[] = "TcpStream";

int WholeSeconds(absl::Duration duration) {
  const std::int64_t seconds = absl::ToInt64Seconds(duration);
  return seconds < 1       ? 1
         : seconds > 32767 ? 32767
                           : static_cast<int>(seconds);  // the system's limit
}

}  // namespace

absl::StatusOr<TcpStream> TcpStream::Adopt(int fd) {
  absl::StatusOr<Ref<OpenFile>> file =
      internal::AdoptSocket(fd, AF_INET, AF_INET6, SOCK_STREAM, kType);
  if (!file.ok()) return file.status();
  return TcpStream(*std::move(file));
}

TcpStream TcpStream::Accepted(int fd) {
  TcpStream stream(Ref<OpenFile>(new OpenFile(fd, OpenFile::Kind::kSocket, kType)));
  (void)stream.SetNoDelay(true);
  return stream;
}

absl::Status TcpStream::CloseWrite() { return Shutdown(file("CloseWrite"), "CloseWrite", SHUT_WR); }

absl::Status TcpStream::CloseRead() { return Shutdown(file("CloseRead"), "CloseRead", SHUT_RD); }

absl::Status TcpStream::SetNoDelay(bool on) {
  return SetSocketOption(file("SetNoDelay"), "SetNoDelay", IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
}

absl::Status TcpStream::SetKeepAlive(absl::Duration idle, absl::Duration interval, int probes) {
  constexpr char kVerb[] = "SetKeepAlive";
  OpenFile& f = file(kVerb);
  absl::Status status = SetSocketOption(f, kVerb, IPPROTO_TCP, TCP_KEEPIDLE, WholeSeconds(idle));
  status.Update(SetSocketOption(f, kVerb, IPPROTO_TCP, TCP_KEEPINTVL, WholeSeconds(interval)));
  status.Update(SetSocketOption(f, kVerb, IPPROTO_TCP, TCP_KEEPCNT, probes));
  status.Update(SetSocketOption(f, kVerb, SOL_SOCKET, SO_KEEPALIVE, 1));
  return status;
}

absl::Status TcpStream::StopKeepAlive() {
  return SetSocketOption(file("StopKeepAlive"), "StopKeepAlive", SOL_SOCKET, SO_KEEPALIVE, 0);
}

absl::Status TcpStream::SetResetOnClose(bool on) {
  constexpr char kVerb[] = "SetResetOnClose";
  const linger value{on ? 1 : 0, 0};
  return internal::OkOrError(kType, kVerb, internal::AtOnce(file(kVerb), [&](int fd) {
                               return TheSystem().SetOption(fd, SOL_SOCKET, SO_LINGER, &value,
                                                            sizeof value);
                             }));
}

absl::StatusOr<Endpoint> TcpStream::local_endpoint() const {
  return internal::LocalEndpoint(file("local_endpoint"));
}

absl::StatusOr<Endpoint> TcpStream::peer_endpoint() const {
  return internal::PeerEndpoint(file("peer_endpoint"));
}

}  // namespace csp::net
