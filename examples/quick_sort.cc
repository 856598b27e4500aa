// Quick sort, whose halves are sorted by tasks of their own: fork by Go, meet again by Join.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "csp/csp.h"

namespace {

// Below this many elements a task costs more than it saves.
constexpr std::size_t kGrain = 2048;

// Waits for a task that borrows from the frame, however the frame is left: the handle alone would
// let the task go on when the caller is cancelled, or throws, before it has joined.
class Joined {
 public:
  explicit Joined(csp::Task<void> task) : task_(std::move(task)) {}
  ~Joined() {
    if (!task_.joinable()) return;
    task_.Cancel();
    const csp::Shield shield;  // from the caller's own cancellation
    try {
      task_.Join();
    } catch (...) {  // the caller has an exception of its own by now
    }
  }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

  void Join() { task_.Join(); }

 private:
  csp::Task<void> task_;
};

void QuickSort(std::span<std::uint32_t> values) {
  if (values.size() <= kGrain) {
    std::sort(values.begin(), values.end());
    return;
  }
  const std::uint32_t pivot = values[values.size() / 2];
  const auto less =
      std::partition(values.begin(), values.end(), [pivot](std::uint32_t v) { return v < pivot; });
  const auto equal =
      std::partition(less, values.end(), [pivot](std::uint32_t v) { return v == pivot; });

  Joined left(csp::Go(QuickSort, std::span(values.begin(), less)));
  QuickSort(std::span(equal, values.end()));
  left.Join();
}

}  // namespace

int main() {
  return csp::Run([] {
    std::vector<std::uint32_t> values(1'000'000);
    std::minstd_rand random(1);
    for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random());

    std::vector<std::uint32_t> expected = values;
    std::sort(expected.begin(), expected.end());

    QuickSort(values);
    std::cout << (values == expected ? "sorted" : "not sorted") << "\n";
  });
}

// Output:
// sorted
