// The job that is mostly computation: a parallel quicksort.

#include <span>
#include <vector>

#include "bench/harness/workload.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {
namespace {

void ParallelQuicksort(std::span<int64_t> a) {
  if (a.size() <= kSerialLength) {
    Quicksort(a);
    return;
  }
  const Parts parts = Partition(a);
  auto low = csp::Go([&] { ParallelQuicksort(parts.low); });
  auto high = csp::Go([&] { ParallelQuicksort(parts.high); });
  low.Join();
  high.Join();
}

}  // namespace

Result Cpu(int64_t n) {
  std::vector<int64_t> numbers = NumbersToSort(n);
  Stopwatch watch;
  ParallelQuicksort(numbers);
  const auto elapsed = watch.Elapsed();
  ExpectSorted(numbers);
  return {elapsed};
}

}  // namespace bench
