// TcpStream::Dial: one address after another, each with a head start (RFC 8305, section 5).
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "csp/net/internal/socket.h"
#include "csp/net/resolve.h"
#include "csp/net/tcp_stream.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/scope.h"
#include "csp/time/time.h"

namespace csp::net {
namespace {

constexpr char kType[] = "TcpStream";

// What an attempt needs to know.
struct Limits {
  absl::Time deadline;
  CancelToken token;
  absl::Duration fallback_delay;
};

Limits LimitsOf(const DialOptions& options) {
  return {options.limit(), options.token, options.fallback_delay};
}

}  // namespace

// Not a namespace's function: makes streams.
class TcpStream::Dialler {
 public:
  using Result = absl::StatusOr<TcpStream>;

  static Result One(const Endpoint& endpoint, const Limits& limits) {
    // A port of the range for clients that nobody listens on may be given to the very socket that
    // dials it, which then is connected to itself.
    constexpr int kTries = 3;
    for (int i = 0; i < kTries; ++i) {
      Result stream = Once(endpoint, limits);
      if (!stream.ok() || !IsConnectedToItself(*stream)) return stream;
    }
    return internal::IoError(kType, "Dial", -ECONNREFUSED);
  }

 private:
  static Result Once(const Endpoint& endpoint, const Limits& limits) {
    absl::StatusOr<internal::Ref<internal::OpenFile>> file =
        internal::OpenSocket(endpoint.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM, kType, "Dial");
    if (!file.ok()) return file.status();
    TcpStream stream(*std::move(file));
    const absl::Status status = internal::Connect(stream.file("Dial"), endpoint.data(),
                                                  endpoint.size(), limits.deadline, limits.token);
    if (!status.ok()) return status;
    (void)stream.SetNoDelay(true);
    return stream;
  }

  static bool IsConnectedToItself(const TcpStream& stream) {
    const absl::StatusOr<Endpoint> local = stream.local_endpoint();
    const absl::StatusOr<Endpoint> peer = stream.peer_endpoint();
    return local.ok() && peer.ok() && *local == *peer;
  }
};

// The race between several addresses. Each attempt is a task; whoever is left is ended with it.
class TcpStream::Race {
 public:
  Race(std::span<const Endpoint> endpoints, const Limits& limits)
      : endpoints_(endpoints), limits_(limits) {}

  Dialler::Result Run() {
    StartNext();
    for (;;) {
      bool start_next = false;
      absl::Status given_up = Select(
          ended_.OnWait() >> [] { return absl::OkStatus(); },
          When(
              started_ < endpoints_.size(), OnTimeout(limits_.fallback_delay) >>
                                                [&] {
                                                  start_next = true;
                                                  return absl::OkStatus();
                                                }),
          OnDeadline(limits_.deadline) >>
              [] { return internal::IoError(kType, "Dial", internal::kDeadlineResult); },
          limits_.token.OnDone() >> [&] { return limits_.token.cause(); });
      if (!given_up.ok()) return given_up;
      if (start_next) {
        StartNext();
        continue;
      }
      ended_.Reset();
      for (Ended& one : TakeEnded()) {
        if (one.result.ok()) return std::move(one.result);
        if (one.index == 0) first_error_ = one.result.status();
        if (++failed_ == endpoints_.size()) return first_error_;
        if (failed_ == started_) StartNext();
      }
    }
  }

 private:
  struct Ended {
    std::size_t index;
    Dialler::Result result;
  };

  void StartNext() {
    scope_.Go([this, index = started_++] {
      Dialler::Result result = Dialler::One(endpoints_[index], limits_);
      {
        const std::lock_guard lock(mu_);
        arrived_.push_back({index, std::move(result)});
      }
      ended_.Set();
    });
  }

  std::vector<Ended> TakeEnded() {
    const std::lock_guard lock(mu_);
    return std::exchange(arrived_, {});
  }

  const std::span<const Endpoint> endpoints_;
  const Limits& limits_;
  std::size_t started_ = 0;
  std::size_t failed_ = 0;
  absl::Status first_error_;
  Event ended_;    // somebody has arrived
  std::mutex mu_;  // guards what follows
  std::vector<Ended> arrived_;
  Scope scope_;  // the first to go: its tasks use the rest
};

absl::StatusOr<TcpStream> TcpStream::Dial(std::string_view host_port, const DialOptions& options) {
  const Limits limits = LimitsOf(options);
  absl::StatusOr<std::vector<Endpoint>> endpoints =
      Resolve(host_port, limits.deadline, limits.token);
  if (!endpoints.ok()) return endpoints.status();
  DialOptions rest = options;
  rest.timeout = absl::InfiniteDuration();
  rest.deadline = limits.deadline;
  return Dial(*endpoints, rest);
}

absl::StatusOr<TcpStream> TcpStream::Dial(std::span<const Endpoint> endpoints,
                                          const DialOptions& options) {
  if (endpoints.empty()) return absl::InvalidArgumentError("TcpStream::Dial: no address");
  const Limits limits = LimitsOf(options);
  if (endpoints.size() == 1) return Dialler::One(endpoints[0], limits);
  return Race(endpoints, limits).Run();
}

absl::StatusOr<TcpStream> TcpStream::Dial(const Endpoint& endpoint, const DialOptions& options) {
  return Dial(std::span<const Endpoint>(&endpoint, 1), options);
}

}  // namespace csp::net
