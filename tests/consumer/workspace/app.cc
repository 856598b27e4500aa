// What a user's first program looks like; consumer_test.py builds it as a user
// would.
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "csp/csp.h"

int main() {
  auto words = csp::MakeChan<std::string>();
  csp::Go([words] {
    words.Send(absl::StrCat("hello", " from ", "csp"));
    words.Close();
  });
  for (std::string& word : words) std::cout << word << "\n";
}
