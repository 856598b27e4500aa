#include "csp/net/listener.h"

#include <errno.h>

#include <algorithm>

#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/socket.h"
#include "csp/net/internal/system.h"
#include "csp/net/io_status.h"
#include "csp/net/tcp_stream.h"
#include "csp/net/unix_stream.h"
#include "csp/time/time.h"

namespace csp::net {
namespace {

using internal::Direction;
using internal::OpenFile;
using internal::Ref;
using internal::TheSystem;

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

}  // namespace

template <class Stream>
absl::StatusOr<Stream> Listener<Stream>::Accept() {
  OpenFile& f = file("Accept");
  return Accepted(f.type(), "Accept", internal::Perform(f, Direction::kRead, kAccept, &TryAccept));
}

template <class Stream>
absl::StatusOr<Stream> Listener<Stream>::Accepted(const char* type, const char* verb, ssize_t fd) {
  if (fd < 0) return internal::IoError(type, verb, fd);
  return Stream::Accepted(static_cast<int>(fd));
}

template <class Stream>
typename Listener<Stream>::AcceptEvent Listener<Stream>::OnAccept() {
  return AcceptEvent(file("OnAccept"));
}

template <class Stream>
Listener<Stream>::AcceptEvent::AcceptEvent(OpenFile& file)
    : IoCase(file, Direction::kRead, kAccept, /*hopeless_first=*/false) {}

template <class Stream>
ssize_t Listener<Stream>::AcceptEvent::Try(int fd) {
  return TryAccept(fd);
}

template <class Stream>
typename Listener<Stream>::AcceptEvent::Result Listener<Stream>::AcceptEvent::Take() {
  return Accepted(file().type(), "OnAccept", result());
}

// --- One after another.

template <class Stream>
typename Listener<Stream>::Iterator Listener<Stream>::begin() {
  status_ = absl::OkStatus();
  return Iterator(*this);
}

template <class Stream>
typename Listener<Stream>::Iterator& Listener<Stream>::Iterator::operator++() {
  absl::StatusOr<Stream> next = listener_->AcceptPatiently();
  ended_ = !next.ok();
  if (next.ok()) {
    stream_ = *std::move(next);
  } else if (!IsClosed(next.status())) {
    listener_->status_ = next.status();
  }
  return *this;
}

template <class Stream>
absl::StatusOr<Stream> Listener<Stream>::AcceptPatiently() {
  for (absl::Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    absl::StatusOr<Stream> stream = Accept();
    if (stream.ok() || !Passes(ErrnoOf(stream.status()))) return stream;
    csp::SleepFor(pause);
  }
}

template class Listener<TcpStream>;
template class Listener<UnixStream>;

}  // namespace csp::net
