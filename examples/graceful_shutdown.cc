// A server that is told to stop. It takes no more requests, lets those under way come to an end for
// as long as its grace lasts, cuts the rest short, and says which those were.
#include <cstddef>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "csp/csp.h"

namespace {

struct Request {
  std::string name;
  absl::Duration takes;
};

// What has begun and not ended.
class Ledger {
 public:
  void Begin(const std::string& name) {
    const std::lock_guard lock(mu_);
    names_.insert(name);
  }
  void End(const std::string& name) {
    const std::lock_guard lock(mu_);
    names_.erase(name);
  }
  std::set<std::string> names() const {
    const std::lock_guard lock(mu_);
    return names_;
  }

 private:
  mutable csp::Mutex mu_;
  std::set<std::string> names_;  // under mu_
};

// A request that is cut short leaves by an exception, and stays in the ledger.
void Handle(const Request& request, Ledger& ledger) {
  csp::SleepFor(request.takes);  // as if it had to ask somebody
  ledger.End(request.name);
  if (request.name == "broken") throw std::runtime_error("no such page");
}

struct Outcome {
  std::set<std::string> cut_short;
  std::size_t failed;
};

// Serves until `stop` is cancelled, then winds up.
Outcome Serve(const csp::RecvChan<Request>& requests, const csp::CancelToken& stop,
              absl::Duration grace) {
  Ledger ledger;
  std::vector<std::exception_ptr> failures;
  // A request that fails harms no other.
  const csp::ScopeOptions options{.policy = csp::ScopePolicy::kCollect, .failures = &failures};
  csp::WithScope(options, [&](csp::Scope& handlers) {
    for (bool serving = true; serving;) {
      serving = csp::PriSelect(  // once told to stop, it takes nothing that may also be there
          stop.OnDone() >> [] { return false; },
          requests.OnRecv() >>
              [&](std::optional<Request> request) {
                if (!request) return false;
                ledger.Begin(request->name);
                handlers.Go([request = *std::move(request), &ledger] { Handle(request, ledger); });
                return true;
              });
    }
    csp::Select(
        handlers.OnIdle() >> [] {},
        csp::OnTimeout(grace) >> [&] { handlers.Cancel(stop.cause()); });
  });  // whoever was cancelled has unwound now
  return {ledger.names(), failures.size()};
}

}  // namespace

int main() {
  return csp::Run([] {
    const csp::CancelSource stop;
    auto requests = csp::MakeChan<Request>();
    csp::Task<Outcome> server = csp::Go([requests, token = stop.token()] {
      return Serve(requests, token, /*grace=*/absl::Seconds(1));
    });

    requests.Send({"quick", absl::ZeroDuration()});
    requests.Send({"broken", absl::ZeroDuration()});
    requests.Send({"slow", absl::Milliseconds(10)});
    requests.Send({"stuck", absl::InfiniteDuration()});
    stop.Cancel(absl::CancelledError("the server shuts down"));  // as if it had got a SIGTERM

    const Outcome outcome = server.Join();
    std::cout << "failed: " << outcome.failed << "\n";
    for (const std::string& name : outcome.cut_short) std::cout << "cut short: " << name << "\n";
    if (!requests.TrySend({"late", absl::ZeroDuration()})) std::cout << "not taken: late\n";
  });
}

// Output:
// failed: 1
// cut short: stuck
// not taken: late
