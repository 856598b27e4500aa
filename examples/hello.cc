// Two tasks, a channel between them, and a Select that waits for one of two things.
#include <iostream>
#include <optional>
#include <string>

#include "csp/csp.h"

int main() {
  auto words = csp::MakeChan<std::string>();
  csp::Go([words] {
    for (const char* word : {"hello", "from", "a", "fiber"}) words.Send(word);
    words.Close();
  });

  for (bool open = true; open;) {
    csp::Select(
        words.OnRecv() >>
            [&](std::optional<std::string> word) {
              if (word) std::cout << *word << "\n";
              open = word.has_value();  // nothing: the channel is closed and drained
            },
        csp::OnTimeout(absl::Seconds(10)) >>
            [&] {
              std::cout << "silence\n";
              open = false;
            });
  }
}

// Output:
// hello
// from
// a
// fiber
