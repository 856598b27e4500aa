// Several channels into one: by a select while the number is known, by a fiber each otherwise.
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csp/csp.h"

namespace {

using Words = csp::RecvChan<std::string>;

// Closes a channel at the end of the task that fills it, also if that is an exception: else whoever
// receives would wait for ever.
class Closing {
 public:
  explicit Closing(csp::SendChan<std::string> channel) : channel_(std::move(channel)) {}
  ~Closing() { channel_.Close(); }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  const csp::SendChan<std::string> channel_;
};

// Says its lines, then closes.
Words Speaker(std::string name, int lines) {
  auto out = csp::MakeChan<std::string>();
  csp::Go([=] {
    const Closing closing(out);
    for (int i = 1; i <= lines; ++i) out.Send(name + " " + std::to_string(i));
  });
  return out;
}

// One fiber and a select. A channel that is closed is always ready, so it is dropped: a nil channel
// never is.
Words Merge(Words a, Words b) {
  auto out = csp::MakeChan<std::string>();
  csp::Go([=]() mutable {
    const Closing closing(out);
    const auto pass_on = [&](Words& from, std::optional<std::string> word) {
      if (word) {
        out.Send(std::move(*word));
      } else {
        from = {};
      }
    };
    while (!a.is_nil() || !b.is_nil()) {
      csp::Select(
          a.OnRecv() >> [&](std::optional<std::string> word) { pass_on(a, word); },
          b.OnRecv() >> [&](std::optional<std::string> word) { pass_on(b, word); });
    }
  });
  return out;
}

// A fiber for each input, and one that waits for them all.
Words Merge(std::vector<Words> inputs) {
  auto out = csp::MakeChan<std::string>();
  csp::Go([inputs = std::move(inputs), out] {
    const Closing closing(out);
    std::vector<csp::Task<void>> copiers;
    for (const Words& in : inputs) {
      copiers.push_back(csp::Go([in, out] {
        for (std::string& word : in) out.Send(std::move(word));
      }));
    }
    for (csp::Task<void>& copier : copiers) copier.Join();
  });
  return out;
}

void Print(Words words) {
  std::vector<std::string> all;
  for (std::string& word : words) all.push_back(std::move(word));
  std::sort(all.begin(), all.end());  // who speaks first is a matter of chance
  for (const std::string& word : all) std::cout << word << "\n";
}

}  // namespace

int main() {
  return csp::Run([] {
    Print(Merge(Speaker("Ann", 2), Speaker("Bob", 3)));
    Print(Merge({Speaker("Cy", 1), Speaker("Dee", 1), Speaker("Eve", 2)}));
  });
}

// Output:
// Ann 1
// Ann 2
// Bob 1
// Bob 2
// Bob 3
// Cy 1
// Dee 1
// Eve 1
// Eve 2
