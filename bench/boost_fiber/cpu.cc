// The job that is mostly computation: a parallel quicksort.

#include "bench/boost_fiber/fiber.h"
#include "bench/boost_fiber/jobs.h"
#include "bench/harness/workload.h"

namespace bench {
namespace {

void ParallelQuicksort(std::span<int64_t> a) {
  if (a.size() <= kSerialLength) {
    Quicksort(a);
    return;
  }
  const Parts parts = Partition(a);
  Countdown halves(2);
  for (const auto half : {parts.low, parts.high}) {
    Go([&halves, half] {
      ParallelQuicksort(half);
      halves.Done();
    });
  }
  halves.Wait();
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
