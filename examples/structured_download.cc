// Downloads that end together: a few at a time, called off when one fails or the time is over, and
// never left behind. (The network is simulated.)
#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "csp/csp.h"

namespace {

// A server for each host; "broken" fails, "stuck" never answers.
std::string Fetch(const std::string& url) {
  if (url == "stuck") csp::SleepFor(absl::InfiniteDuration());
  csp::SleepFor(absl::Milliseconds(1));
  if (url == "broken") throw std::runtime_error("broken: connection refused");
  return "<" + url + ">";
}

// All pages, two at a time. The tasks write into `pages`, which is this function's: WithScope does
// not return before they have ended, however it ends.
std::vector<std::string> FetchAll(const std::vector<std::string>& urls, absl::Duration timeout) {
  std::vector<std::string> pages(urls.size());
  csp::WithScope({.timeout = timeout, .limit = 2}, [&](csp::Scope& s) {
    for (std::size_t i = 0; i < urls.size(); ++i) {
      s.Go([&, i] { pages[i] = Fetch(urls[i]); });  // waits while two are at work
    }
  });
  return pages;
}

void Show(const std::string& what, const std::vector<std::string>& urls, absl::Duration timeout) {
  std::cout << what << ":";
  try {
    for (const std::string& page : FetchAll(urls, timeout)) std::cout << " " << page;
    std::cout << "\n";
  } catch (const csp::DeadlineExceeded&) {
    std::cout << " too slow\n";
  } catch (const std::runtime_error& e) {
    std::cout << " " << e.what() << "\n";
  }
}

}  // namespace

int main() {
  return csp::Run([] {
    Show("all well", {"a", "b", "c", "d"}, absl::Hours(1));
    // The first failure ends the one that is stuck.
    Show("one fails", {"stuck", "broken", "c"}, absl::Hours(1));
    Show("one is stuck", {"a", "stuck", "c"}, absl::Milliseconds(20));

    // The quickest of several mirrors; the others are called off.
    std::cout << "mirrors: " << csp::Race([] { return Fetch("stuck"); }, [] { return Fetch("m"); })
              << "\n";

    // What belongs together, each with its type.
    auto [page, length] =
        csp::JoinAll([] { return Fetch("e"); }, [] { return Fetch("header").size(); });
    std::cout << "both: " << page << " " << length << "\n";
  });
}

// Output:
// all well: <a> <b> <c> <d>
// one fails: broken: connection refused
// one is stuck: too slow
// mirrors: <m>
// both: <e> 8
