#include "csp/net/resolve.h"

#include <netdb.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/system.h"
#include "csp/select/select.h"
#include "csp/task/blocking_call.h"
#include "csp/time/time.h"

namespace csp::net {
namespace {

using Endpoints = absl::StatusOr<std::vector<Endpoint>>;

absl::Status Failed(const std::string& host, int code, int error) {
  if (code == EAI_SYSTEM) return internal::IoError("net", "Resolve", -error);
  const std::string what = absl::StrCat("Resolve: \"", host, "\": ", gai_strerror(code));
  switch (code) {
    case EAI_NONAME:
    case EAI_NODATA:
      return absl::NotFoundError(what);
    case EAI_AGAIN:
      return absl::UnavailableError(what);
    case EAI_MEMORY:
      return absl::ResourceExhaustedError(what);
    default:
      return absl::UnknownError(what);
  }
}

// Families take turns, beginning with the first; within each the order stays.
void TakeTurns(std::vector<Endpoint>& endpoints) {
  std::vector<Endpoint> first;
  std::vector<Endpoint> second;
  for (const Endpoint& endpoint : endpoints) {
    (endpoint.is_v6() == endpoints[0].is_v6() ? first : second).push_back(endpoint);
  }
  endpoints.clear();
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) endpoints.push_back(first[i]);
    if (i < second.size()) endpoints.push_back(second[i]);
  }
}

// On a thread of the pool.
Endpoints Lookup(const HostPort& what) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;  // or each comes once for each type
  addrinfo* found = nullptr;
  int error = 0;
  internal::System& system = internal::TheSystem();
  const int code = system.Resolve(what.host.c_str(), hints, &found, error);
  if (code != 0) return Failed(what.host, code, error);
  std::vector<Endpoint> endpoints;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    absl::StatusOr<Endpoint> endpoint = Endpoint::From(one->ai_addr, one->ai_addrlen);
    if (!endpoint.ok()) continue;
    endpoint->set_port(what.port);
    endpoints.push_back(*endpoint);
  }
  system.FreeResolved(found);
  if (endpoints.empty()) return Failed(what.host, EAI_NONAME, 0);
  TakeTurns(endpoints);
  return endpoints;
}

}  // namespace

absl::StatusOr<std::vector<Endpoint>> Resolve(std::string_view host_port, absl::Time deadline,
                                              const CancelToken& token) {
  absl::StatusOr<HostPort> what = SplitHostPort(host_port);
  if (!what.ok()) return what.status();
  if (what->host.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("address \"", host_port, "\": has no host"));
  }
  const absl::StatusOr<Endpoint> literal = Endpoint::Parse(what->host, what->port);
  if (literal.ok()) return std::vector<Endpoint>{*literal};
  if (what->host.find(':') != std::string::npos) return literal.status();
  Task<Endpoints> lookup =
      BlockingDetached([what = std::move(*what)]() -> Endpoints { return Lookup(what); });
  return Select(
      lookup.OnJoin() >> [](Endpoints found) { return found; },
      OnDeadline(deadline) >> [&]() -> Endpoints {
        return absl::DeadlineExceededError(
            absl::StrCat("Resolve: \"", host_port, "\": the deadline has passed"));
      },
      token.OnDone() >> [&]() -> Endpoints { return token.cause(); });
}

}  // namespace csp::net
