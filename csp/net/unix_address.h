// Where a Unix socket is: a path in the file system, or a name in the kernel's own table.
//
//   absl::StatusOr<csp::net::UnixAddress> a = csp::net::UnixAddress::Parse("/run/app.sock");
//   absl::StatusOr<csp::net::UnixAddress> b = csp::net::UnixAddress::Parse("@app");   // abstract
//
// A socket at a path leaves its file behind when it is closed, and nobody can be bound there until the
// file is removed. An abstract name goes with its socket, and has no permissions: everybody of the
// same network namespace may connect.
#ifndef CSP_NET_UNIX_ADDRESS_H_
#define CSP_NET_UNIX_ADDRESS_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace csp::net {

class UnixAddress {
 public:
  // Unnamed, as a socket that has not been bound.
  UnixAddress() = default;

  // A path, or "@" and an abstract name (a path that begins so is written "./@x"). A path has at most
  // 107 bytes, none of them zero; an abstract name at most 107 of any value. InvalidArgument, saying
  // what is wrong.
  static absl::StatusOr<UnixAddress> Parse(std::string_view text);
  // What the system has given; InvalidArgument if it is of another family.
  static absl::StatusOr<UnixAddress> From(const sockaddr* address, socklen_t size);

  bool is_unnamed() const { return name().empty(); }
  bool is_abstract() const { return !is_unnamed() && address_.sun_path[0] == '\0'; }
  // As Parse reads it; "" if unnamed.
  std::string ToString() const;

  // For system calls.
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

  friend bool operator==(const UnixAddress& a, const UnixAddress& b) {
    return a.name() == b.name();
  }

  template <class H>
  friend H AbslHashValue(H state, const UnixAddress& address) {
    return H::combine(std::move(state), address.name());
  }

 private:
  static constexpr socklen_t kHeader = sizeof(sa_family_t);

  // As the system has it: a path without its terminator, an abstract name with the zero before it.
  std::string_view name() const { return {address_.sun_path, size_ - kHeader}; }

  sockaddr_un address_ = {AF_UNIX, {}};
  socklen_t size_ = kHeader;
};

}  // namespace csp::net

#endif  // CSP_NET_UNIX_ADDRESS_H_
