// A tree of cancellation: a server, its connections, their requests. What is cancelled takes with
// it whatever is below, and says why.
#include <iostream>
#include <string>
#include <vector>

#include "csp/csp.h"

namespace {

struct Request {
  std::string name;
  csp::CancelToken token;
};

// What is said of each that has been cancelled, in the order in which they are written here.
void Report(const std::string& what, const std::vector<Request>& requests) {
  std::cout << what << ":\n";
  for (const Request& request : requests) {
    std::cout << "  " << request.name << ": "
              << (request.token.cancelled() ? request.token.cause().message() : "at work") << "\n";
  }
}

}  // namespace

// What follows a cancellation is printed by whoever comes first: on one worker that is known.
int main() {
  const csp::RunOptions one_worker{.workers = 1};
  return csp::Run(
      [] {
        csp::CancelSource server;
        csp::CancelSource alice(server.token());
        csp::CancelSource bob(server.token());
        // Of all deadlines on the way up to the root the earliest counts.
        csp::CancelSource slow({.parent = bob.token(), .timeout = absl::Hours(1)});
        csp::CancelSource query({.parent = alice.token(),
                                 .timeout = absl::Milliseconds(2),
                                 .deadline_cause = absl::DeadlineExceededError("out of time")});

        const std::vector<Request> requests = {{"alice", alice.token()},
                                               {"alice's query", query.token()},
                                               {"bob", bob.token()},
                                               {"bob's slow one", slow.token()}};

        query.token().Wait();
        Report("a deadline has passed", requests);

        // A callback runs before Cancel returns; a token is an event like any other.
        csp::CancelCallback log(slow.token(), []() noexcept { std::cout << "told at once\n"; });
        csp::Task<void> waiter = csp::Go([token = slow.token()] {
          csp::Select(
              token.OnDone() >> [] { std::cout << "a waiter wakes\n"; },
              csp::OnTimeout(absl::Hours(1)) >> [] {});
        });
        bob.Cancel(absl::AbortedError("bob hung up"));
        waiter.Join();
        Report("a connection has gone", requests);

        server.Cancel(absl::CancelledError("the server shuts down"));
        Report("the rest", requests);
      },
      one_worker);
}

// Output:
// a deadline has passed:
//   alice: at work
//   alice's query: out of time
//   bob: at work
//   bob's slow one: at work
// told at once
// a waiter wakes
// a connection has gone:
//   alice: at work
//   alice's query: out of time
//   bob: bob hung up
//   bob's slow one: bob hung up
// the rest:
//   alice: the server shuts down
//   alice's query: out of time
//   bob: bob hung up
//   bob's slow one: bob hung up
