#include "csp/net/endpoint.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace csp::net {
namespace {

absl::Status Bad(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("address \"", text, "\": ", what));
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= 9 && (text.size() == 1 || text[0] != '0') &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "%eth0" or "%2"; 0 if there is no such interface.
std::uint32_t ScopeOf(const std::string& zone) {
  std::uint32_t number = 0;
  if (IsNumber(zone) && absl::SimpleAtoi(zone, &number)) return number;
  return if_nametoindex(zone.c_str());
}

}  // namespace

Endpoint::Endpoint(const in_addr& ip, std::uint16_t port) {
  std::memset(&address_, 0, sizeof address_);
  address_.v4.sin_family = AF_INET;
  address_.v4.sin_addr = ip;
  address_.v4.sin_port = htons(port);
}

Endpoint::Endpoint(const in6_addr& ip, std::uint16_t port, std::uint32_t scope) {
  std::memset(&address_, 0, sizeof address_);
  address_.v6.sin6_family = AF_INET6;
  address_.v6.sin6_addr = ip;
  address_.v6.sin6_port = htons(port);
  address_.v6.sin6_scope_id = scope;
}

absl::StatusOr<Endpoint> Endpoint::Parse(std::string_view text) {
  const absl::StatusOr<HostPort> parts = SplitHostPort(text);
  if (!parts.ok()) return parts.status();
  absl::StatusOr<Endpoint> endpoint = Parse(parts->host, parts->port);
  if (!endpoint.ok()) return endpoint.status();
  if (endpoint->is_v6() != (text[0] == '[')) return Bad(text, "brackets are for IPv6 addresses");
  return endpoint;
}

absl::StatusOr<Endpoint> Endpoint::Parse(std::string_view ip, std::uint16_t port) {
  if (ip.find('\0') != std::string_view::npos) return Bad(ip, "has a zero byte in it");
  const std::string whole(ip);
  in_addr v4;
  if (inet_pton(AF_INET, whole.c_str(), &v4) == 1) return Endpoint(v4, port);
  const std::size_t percent = whole.find('%');
  in6_addr v6;
  if (inet_pton(AF_INET6, whole.substr(0, percent).c_str(), &v6) != 1) {
    return Bad(ip, "is neither an IPv4 nor an IPv6 address");
  }
  if (percent == std::string::npos) return Endpoint(v6, port);
  const std::uint32_t scope = ScopeOf(whole.substr(percent + 1));
  if (scope == 0) return Bad(ip, "there is no such interface");
  return Endpoint(v6, port, scope);
}

absl::StatusOr<Endpoint> Endpoint::From(const sockaddr* address, socklen_t size) {
  Endpoint endpoint;
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    std::memcpy(&endpoint.address_.v4, address, sizeof(sockaddr_in));
  } else if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    std::memcpy(&endpoint.address_.v6, address, sizeof(sockaddr_in6));
  } else {
    return absl::InvalidArgumentError("Endpoint::From: not an address of IPv4 or IPv6");
  }
  return endpoint;
}

bool Endpoint::is_loopback() const {
  return is_v6() ? IN6_IS_ADDR_LOOPBACK(&address_.v6.sin6_addr) != 0
                 : ntohl(address_.v4.sin_addr.s_addr) >> 24 == 127;
}

std::uint16_t Endpoint::port() const {
  return ntohs(is_v6() ? address_.v6.sin6_port : address_.v4.sin_port);
}

void Endpoint::set_port(std::uint16_t port) {
  (is_v6() ? address_.v6.sin6_port : address_.v4.sin_port) = htons(port);
}

std::string Endpoint::ip() const {
  char text[INET6_ADDRSTRLEN];
  if (!is_v6()) return inet_ntop(AF_INET, &address_.v4.sin_addr, text, sizeof text);
  std::string ip = inet_ntop(AF_INET6, &address_.v6.sin6_addr, text, sizeof text);
  if (scope() == 0) return ip;
  char name[IF_NAMESIZE];
  return if_indextoname(scope(), name) != nullptr ? absl::StrCat(ip, "%", name)
                                                  : absl::StrCat(ip, "%", scope());
}

std::string Endpoint::ToString() const {
  return is_v6() ? absl::StrCat("[", ip(), "]:", port()) : absl::StrCat(ip(), ":", port());
}

bool operator==(const Endpoint& a, const Endpoint& b) {
  if (a.is_v6() != b.is_v6() || a.port() != b.port() || a.scope() != b.scope()) return false;
  return a.is_v6() ? std::memcmp(&a.address_.v6.sin6_addr, &b.address_.v6.sin6_addr,
                                 sizeof(in6_addr)) == 0
                   : a.address_.v4.sin_addr.s_addr == b.address_.v4.sin_addr.s_addr;
}

absl::StatusOr<HostPort> SplitHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Bad(text, "has no port; write \"host:port\"");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (!host.empty() && host.front() == '[') {
    if (host.back() != ']') return Bad(text, "'[' without ']' before the port");
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) {
      return Bad(text, "brackets are for IPv6 addresses");
    }
  } else if (host.find(':') != std::string_view::npos) {
    return Bad(text, "too many colons; an IPv6 address stands in brackets, as in \"[::1]:80\"");
  }
  if (host.find_first_of("[] \t\r\n") != std::string_view::npos ||
      host.find('\0') != std::string_view::npos) {
    return Bad(text, "a character that no host has");
  }
  HostPort parts;
  std::uint32_t number = 0;
  if (!IsNumber(port) || !absl::SimpleAtoi(port, &number) || number > 65535) {
    return Bad(text, "the port is no number from 0 to 65535");
  }
  parts.host = std::string(host);
  parts.port = static_cast<std::uint16_t>(number);
  return parts;
}

}  // namespace csp::net
