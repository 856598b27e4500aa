#include "csp/net/unix_stream.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>

#include "csp/net/internal/socket.h"
#include "csp/net/io_status.h"
#include "csp/select/select.h"
#include "csp/time/time.h"

namespace csp::net {
namespace {

using internal::OpenFile;
using internal::Ref;
using internal::Shutdown;

constexpr char kType[] = "UnixStream";

constexpr absl::Duration kFirstPause = absl::Milliseconds(1);
constexpr absl::Duration kLongestPause = absl::Milliseconds(50);

// Connects as soon as the listener's queue has room.
absl::Status ConnectPatiently(OpenFile& file, const UnixAddress& address,
                              const DialOptions& options) {
  const absl::Time deadline = options.limit();
  for (absl::Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    absl::Status status =
        internal::Connect(file, address.data(), address.size(), deadline, options.token);
    if (ErrnoOf(status) != EAGAIN) return status;
    status = Select(
        OnTimeout(pause) >> [] { return absl::OkStatus(); },
        OnDeadline(deadline) >>
            [] { return internal::IoError(kType, "Dial", internal::kDeadlineResult); },
        options.token.OnDone() >> [&] { return options.token.cause(); });
    if (!status.ok()) return status;
  }
}

}  // namespace

absl::StatusOr<UnixStream> UnixStream::Dial(std::string_view address, const DialOptions& options) {
  const absl::StatusOr<UnixAddress> parsed = UnixAddress::Parse(address);
  if (!parsed.ok()) return parsed.status();
  return Dial(*parsed, options);
}

absl::StatusOr<UnixStream> UnixStream::Dial(const UnixAddress& address,
                                            const DialOptions& options) {
  absl::StatusOr<Ref<OpenFile>> file = internal::OpenSocket(AF_UNIX, SOCK_STREAM, kType, "Dial");
  if (!file.ok()) return file.status();
  UnixStream stream(*std::move(file));
  absl::Status status = ConnectPatiently(stream.file("Dial"), address, options);
  if (!status.ok()) return status;
  return stream;
}

absl::StatusOr<std::pair<UnixStream, UnixStream>> UnixStream::Pair() {
  auto files = internal::OpenSocketPair(SOCK_STREAM, kType);
  if (!files.ok()) return files.status();
  return std::pair(UnixStream(std::move(files->first)), UnixStream(std::move(files->second)));
}

absl::StatusOr<UnixStream> UnixStream::Adopt(int fd) {
  absl::StatusOr<Ref<OpenFile>> file = internal::AdoptSocket(fd, AF_UNIX, 0, SOCK_STREAM, kType);
  if (!file.ok()) return file.status();
  return UnixStream(*std::move(file));
}

UnixStream UnixStream::Accepted(int fd) {
  return UnixStream(Ref<OpenFile>(new OpenFile(fd, OpenFile::Kind::kSocket, kType)));
}

absl::Status UnixStream::CloseWrite() {
  return Shutdown(file("CloseWrite"), "CloseWrite", SHUT_WR);
}

absl::Status UnixStream::CloseRead() { return Shutdown(file("CloseRead"), "CloseRead", SHUT_RD); }

absl::StatusOr<UnixAddress> UnixStream::local_address() const {
  return internal::LocalUnixAddress(file("local_address"));
}

absl::StatusOr<UnixAddress> UnixStream::peer_address() const {
  return internal::PeerUnixAddress(file("peer_address"));
}

}  // namespace csp::net
