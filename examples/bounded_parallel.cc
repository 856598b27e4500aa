// A function of many values, a few at a time, with the results in the order of the values.
#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "csp/csp.h"

namespace {

// f(x) of each x, at most `limit` at a time. Each task has a place of its own in the results, so
// nothing need be locked or sorted, and the scope waits for all of them. The first to fail calls off
// the others; what it threw is thrown here.
template <class X, class F>
auto ParallelMap(std::size_t limit, const std::vector<X>& xs, F f) {
  using Y = std::invoke_result_t<F&, const X&>;
  static_assert(!std::is_same_v<Y, bool>, "a vector of bool packs several into one byte");
  std::vector<Y> results(xs.size());
  csp::WithScope({.limit = limit}, [&](csp::Scope& s) {
    for (std::size_t i = 0; i < xs.size(); ++i) {
      s.Go([&, i] { results[i] = f(xs[i]); });  // waits while `limit` are at work
    }
  });
  return results;
}

}  // namespace

int main() {
  return csp::Run([] {
    csp::Semaphore desks(3);
    const auto square = [&](int n) {
      if (n == 7) throw std::runtime_error("no square of 7");
      if (!desks.TryAcquire()) throw std::runtime_error("more than 3 at a time");
      csp::SleepFor(absl::Milliseconds(9 - n));  // of those that begin together the last ends first
      desks.Release();
      return n * n;
    };

    for (const int result : ParallelMap(3, std::vector{1, 2, 3, 4, 5, 6}, square)) {
      std::cout << result << "\n";
    }
    try {
      (void)ParallelMap(3, std::vector{6, 7, 8}, square);
    } catch (const std::runtime_error& e) {
      std::cout << e.what() << "\n";
    }
  });
}

// Output:
// 1
// 4
// 9
// 16
// 25
// 36
// no square of 7
