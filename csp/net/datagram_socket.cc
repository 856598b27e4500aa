#include "csp/net/datagram_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <type_traits>

#include "csp/net/endpoint.h"
#include "csp/net/internal/io_case.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/system.h"
#include "csp/net/unix_address.h"

namespace csp::net {
namespace {

using internal::Direction;
using internal::IoError;
using internal::OpenFile;
using internal::Perform;
using internal::TheSystem;

constexpr ParkReason kRecv{"Recv", "net"};
constexpr ParkReason kSend{"Send", "net"};

// MSG_TRUNC: the result is the datagram's size, not that of what fits.
template <class Received>
ssize_t TryRecv(int fd, MutableBytes buffer, Received& received) {
  using Address = decltype(received.from);
  sockaddr_storage from{};
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t size = TheSystem().RecvMsg(fd, &message, MSG_TRUNC);
  if (size < 0) return size;
  received.sent_size = static_cast<std::size_t>(size);
  received.size = std::min(received.sent_size, buffer.size());
  received.from = Address::From(reinterpret_cast<const sockaddr*>(&from), message.msg_namelen)
                      .value_or(Address());
  return size;
}

// No address: the peer's. The system says when a Unix socket's peer has room in its queue, but not
// when another receiver has: waiting for that would be polling.
template <class Address>
ssize_t TrySend(int fd, Bytes datagram, const Address* to) {
  iovec part{const_cast<void*>(datagram.data()), datagram.size()};
  msghdr message{};
  if (to != nullptr) {
    message.msg_name = const_cast<sockaddr*>(to->data());
    message.msg_namelen = to->size();
  }
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t result = TheSystem().SendMsg(fd, &message, 0);
  const bool waits_in_vain = std::is_same_v<Address, UnixAddress> && to != nullptr;
  return result == -EAGAIN && waits_in_vain ? -ENOBUFS : result;
}

template <class Received>
absl::StatusOr<Received> DoRecv(OpenFile& file, const char* verb, MutableBytes buffer) {
  Received received;
  const ssize_t result =
      Perform(file, Direction::kRead, kRecv, [&](int fd) { return TryRecv(fd, buffer, received); });
  if (result < 0) return IoError(file.type(), verb, result);
  return received;
}

template <class Address>
absl::Status DoSend(OpenFile& file, const char* verb, Bytes datagram, const Address* to) {
  return internal::OkOrError(
      file.type(), verb,
      Perform(file, Direction::kWrite, kSend, [&](int fd) { return TrySend(fd, datagram, to); }));
}

}  // namespace

template <class Address>
absl::StatusOr<typename DatagramSocket<Address>::Received> DatagramSocket<Address>::RecvFrom(
    MutableBytes buffer) {
  return DoRecv<Received>(file("RecvFrom"), "RecvFrom", buffer);
}

template <class Address>
absl::StatusOr<typename DatagramSocket<Address>::Received> DatagramSocket<Address>::Recv(
    MutableBytes buffer) {
  return DoRecv<Received>(file("Recv"), "Recv", buffer);
}

template <class Address>
absl::Status DatagramSocket<Address>::SendTo(Bytes datagram, const Address& to) {
  return DoSend(file("SendTo"), "SendTo", datagram, &to);
}

template <class Address>
absl::Status DatagramSocket<Address>::Send(Bytes datagram) {
  return DoSend<Address>(file("Send"), "Send", datagram, nullptr);
}

// --- Events.

template <class Address>
typename DatagramSocket<Address>::RecvEvent DatagramSocket<Address>::OnRecvFrom(
    MutableBytes buffer) {
  return RecvEvent(file("OnRecvFrom"), "OnRecvFrom", buffer);
}

template <class Address>
typename DatagramSocket<Address>::RecvEvent DatagramSocket<Address>::OnRecv(MutableBytes buffer) {
  return RecvEvent(file("OnRecv"), "OnRecv", buffer);
}

template <class Address>
typename DatagramSocket<Address>::SendEvent DatagramSocket<Address>::OnSendTo(Bytes datagram,
                                                                              const Address& to) {
  return SendEvent(file("OnSendTo"), "OnSendTo", datagram, to);
}

template <class Address>
typename DatagramSocket<Address>::SendEvent DatagramSocket<Address>::OnSend(Bytes datagram) {
  return SendEvent(file("OnSend"), "OnSend", datagram, std::nullopt);
}

template <class Address>
DatagramSocket<Address>::RecvEvent::RecvEvent(OpenFile& file, const char* verb, MutableBytes buffer)
    : IoCase(file, Direction::kRead, kRecv, /*hopeless_first=*/false),
      verb_(verb),
      buffer_(buffer) {}

template <class Address>
ssize_t DatagramSocket<Address>::RecvEvent::Try(int fd) {
  return TryRecv(fd, buffer_, received_);
}

template <class Address>
typename DatagramSocket<Address>::RecvEvent::Result DatagramSocket<Address>::RecvEvent::Take() {
  if (result() < 0) return IoError(file().type(), verb_, result());
  return received_;
}

template <class Address>
DatagramSocket<Address>::SendEvent::SendEvent(OpenFile& file, const char* verb, Bytes datagram,
                                              std::optional<Address> to)
    : IoCase(file, Direction::kWrite, kSend, /*hopeless_first=*/false),
      verb_(verb),
      datagram_(datagram),
      to_(to) {}

template <class Address>
ssize_t DatagramSocket<Address>::SendEvent::Try(int fd) {
  return TrySend(fd, datagram_, to_ ? &*to_ : nullptr);
}

template <class Address>
typename DatagramSocket<Address>::SendEvent::Result DatagramSocket<Address>::SendEvent::Take() {
  return internal::OkOrError(file().type(), verb_, result());
}

template class DatagramSocket<Endpoint>;
template class DatagramSocket<UnixAddress>;

}  // namespace csp::net
