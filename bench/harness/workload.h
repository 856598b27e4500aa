// The work inside the jobs that has nothing to do with tasks: the same for
// every C++ program, and step for step that of the Go program.

#ifndef CSP_BENCH_HARNESS_WORKLOAD_H_
#define CSP_BENCH_HARNESS_WORKLOAD_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/harness/harness.h"

namespace bench {

// 0 + 1 + ... + n-1: what the messages of most jobs add up to.
constexpr int64_t SumBelow(int64_t n) { return n * (n - 1) / 2; }

// The nth prime, by trial division.
int64_t NthPrime(int64_t n);

// Knuth's MMIX generator; Next gives its high 31 bits.
class Lcg {
 public:
  explicit Lcg(uint64_t seed) : state_(seed) {}

  int64_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(state_ >> 33);
  }

 private:
  uint64_t state_;
};

// For `cpu`: n pseudo-random numbers, and the check that `sorted` is them.
std::vector<int64_t> NumbersToSort(int64_t n);
void ExpectSorted(std::span<const int64_t> sorted);

// Up to this length a part is sorted by the task that has it.
inline constexpr std::size_t kSerialLength = 4096;

void Quicksort(std::span<int64_t> a);

// The two parts that are left to sort: nothing in `low` is greater than the
// pivot, nothing in `high` less, and what lies between equals it.
struct Parts {
  std::span<int64_t> low;
  std::span<int64_t> high;
};
Parts Partition(std::span<int64_t> a);

// For `sleepers`: n pseudo-random times from 0 to 1000 ms.
std::vector<std::chrono::milliseconds> Naps(int64_t n);

// For `wakelatency`: computes, without giving way, until that much time is on
// the watch.
void ComputeUntil(const Stopwatch& watch, std::chrono::nanoseconds time);

// The median, the 99th percentile and the longest, in microseconds. Ends the
// process with status 1 if one is negative: a task woke early.
std::vector<Field> Percentiles(std::vector<std::chrono::nanoseconds> waits);

// For `parked`: n tasks that hold so many bytes were started, and later
// released, in those times.
Result ParkedResult(int64_t n, double bytes, std::chrono::nanoseconds spawned,
                    std::chrono::nanoseconds released);

}  // namespace bench

#endif  // CSP_BENCH_HARNESS_WORKLOAD_H_
