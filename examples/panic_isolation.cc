// A task that throws harms no other. Join gets the exception; if nobody joins, the panic handler.
#include <iostream>
#include <stdexcept>
#include <string>

#include "csp/csp.h"

namespace {

int Parse(const std::string& text) {
  if (text.empty()) throw std::invalid_argument("nothing to parse");
  return std::stoi(text);
}

// A server that starts its requests and does not wait for them.
void Serve(csp::RecvChan<std::string> requests, csp::SendChan<int> answers) {
  for (std::string& request : requests) {
    csp::Go({.name = "request"},
            [answers, request = std::move(request)] { answers.Send(Parse(request)); });
  }
}

}  // namespace

int main() {
  auto failures = csp::MakeChan<std::string>(1);
  csp::RunOptions options;
  options.on_panic = [failures](const csp::PanicReport& report) {
    failures.Send(report.name + " failed: " + report.what);
  };

  return csp::Run(
      [&] {
        // Somebody waits: the exception is theirs.
        csp::Task<int> task = csp::Go(Parse, "");
        try {
          task.Join();
        } catch (const std::invalid_argument& e) {
          std::cout << "joined: " << e.what() << "\n";
        }

        // Nobody waits: the handler is told, and everything else goes on.
        auto requests = csp::MakeChan<std::string>();
        auto answers = csp::MakeChan<int>();
        csp::Go(Serve, requests, answers);
        requests.Send("");
        std::cout << *failures.Recv() << "\n";
        requests.Send("42");
        std::cout << "answer: " << *answers.Recv() << "\n";
      },
      options);
}

// Output:
// joined: nothing to parse
// request failed: nothing to parse
// answer: 42
