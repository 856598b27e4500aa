#include "csp/net/unix_address.h"

#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace csp::net {
namespace {

// Leaves room for a path's terminator, and for the zero before an abstract name.
constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Bad(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("Unix address \"", text, "\": ", what));
}

}  // namespace

absl::StatusOr<UnixAddress> UnixAddress::Parse(std::string_view text) {
  if (text.empty()) return Bad(text, "is empty; write a path, or \"@name\" for an abstract one");
  const bool abstract = text[0] == '@';
  const std::string_view name = text.substr(abstract ? 1 : 0);
  if (name.empty()) return Bad(text, "no name behind the \"@\"");
  if (!abstract && name.find('\0') != std::string_view::npos) {
    return Bad(text, "has a zero byte in it");
  }
  if (name.size() > kLongest) {
    return Bad(text, absl::StrCat("has ", name.size(), " bytes, and ", kLongest,
                                  " are the most; take a relative path, or an abstract name"));
  }
  UnixAddress address;
  std::memcpy(address.address_.sun_path + (abstract ? 1 : 0), name.data(), name.size());
  address.size_ += static_cast<socklen_t>(name.size() + (abstract ? 1 : 0));
  return address;
}

absl::StatusOr<UnixAddress> UnixAddress::From(const sockaddr* address, socklen_t size) {
  UnixAddress unix_address;
  if (size <= kHeader) return unix_address;  // unnamed, of which not even the family may be there
  if (address->sa_family != AF_UNIX || size > sizeof(sockaddr_un)) {
    return absl::InvalidArgumentError("UnixAddress::From: not an address of a Unix socket");
  }
  const auto* given = reinterpret_cast<const sockaddr_un*>(address);
  std::size_t length = size - kHeader;
  if (given->sun_path[0] != '\0') length = strnlen(given->sun_path, length);
  std::memcpy(unix_address.address_.sun_path, given->sun_path, length);
  unix_address.size_ += static_cast<socklen_t>(length);
  return unix_address;
}

std::string UnixAddress::ToString() const {
  return is_abstract() ? absl::StrCat("@", name().substr(1)) : std::string(name());
}

}  // namespace csp::net
