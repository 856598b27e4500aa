// A socket that carries datagrams: what UdpSocket and UnixDatagram have in common.
//
//   verb                  event
//   RecvFrom, Recv        OnRecvFrom, OnRecv
//   SendTo, Send          OnSendTo, OnSend
//
// A datagram is sent and received whole, also one of no bytes. Recv and Send are for a socket that
// has been connected, which has one peer: Send sends there, and of UDP only what the peer has sent
// is received. Deadlines and hints are those of IoHandle.
//
// Memory ordering: what happens before a Send is visible to whoever has received its datagram, if
// it is in this program and learns of it through csp.
#ifndef CSP_NET_DATAGRAM_SOCKET_H_
#define CSP_NET_DATAGRAM_SOCKET_H_

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csp/net/bytes.h"
#include "csp/net/io_handle.h"

namespace csp::net {

template <class Address>
class DatagramSocket : public IoHandle {
 public:
  struct Received {
    std::size_t size = 0;       // how many bytes stand in the buffer
    std::size_t sent_size = 0;  // how many the datagram had; the rest is lost
    Address from;

    bool truncated() const { return sent_size > size; }
  };

  class RecvEvent;
  class SendEvent;

  // Blocks until a datagram is there, and takes it. A buffer of no bytes takes it as well. On a
  // connected UDP socket the peer's refusal of an earlier datagram is an error here (ECONNREFUSED);
  // the socket goes on.
  absl::StatusOr<Received> RecvFrom(MutableBytes buffer);
  absl::StatusOr<Received> Recv(MutableBytes buffer);

  // Blocks until the system takes the datagram; that it has does not mean that it arrives. EMSGSIZE
  // if it is too long. Send: ENOTCONN or EDESTADDRREQ if the socket has not been connected.
  absl::Status SendTo(Bytes datagram, const Address& to);
  absl::Status Send(Bytes datagram);

  // The same as events of Select; the result is theirs. If the case loses, no datagram has been taken
  // or sent.
  [[nodiscard]] RecvEvent OnRecvFrom(MutableBytes buffer);
  [[nodiscard]] RecvEvent OnRecv(MutableBytes buffer);
  [[nodiscard]] SendEvent OnSendTo(Bytes datagram, const Address& to);
  [[nodiscard]] SendEvent OnSend(Bytes datagram);

 protected:
  DatagramSocket() = default;
  using IoHandle::IoHandle;
};

template <class Address>
class DatagramSocket<Address>::RecvEvent final : public SelectEvent, public internal::IoCase {
 public:
  using Result = absl::StatusOr<Received>;

  RecvEvent(internal::OpenFile& file, const char* verb, MutableBytes buffer);
  Result Take();

 private:
  ssize_t Try(int fd) override;

  const char* const verb_;
  const MutableBytes buffer_;
  Received received_;
};

template <class Address>
class DatagramSocket<Address>::SendEvent final : public SelectEvent, public internal::IoCase {
 public:
  using Result = absl::Status;

  SendEvent(internal::OpenFile& file, const char* verb, Bytes datagram, std::optional<Address> to);
  Result Take();

 private:
  ssize_t Try(int fd) override;

  const char* const verb_;
  const Bytes datagram_;
  const std::optional<Address> to_;
};

}  // namespace csp::net

#endif  // CSP_NET_DATAGRAM_SOCKET_H_
