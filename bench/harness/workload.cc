#include "bench/harness/workload.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bench {
namespace {

constexpr uint64_t kSeed = 1;

// Up to this length insertion is faster than another partition.
constexpr std::size_t kInsertionLength = 16;

void InsertionSort(std::span<int64_t> a) {
  for (std::size_t i = 1; i < a.size(); ++i) {
    const int64_t v = a[i];
    std::size_t j = i;
    for (; j > 0 && a[j - 1] > v; --j) a[j] = a[j - 1];
    a[j] = v;
  }
}

int64_t MedianOf3(int64_t a, int64_t b, int64_t c) {
  if (a > b) std::swap(a, b);
  return std::clamp(c, a, b);
}

bool IsPrime(int64_t candidate, std::span<const int64_t> smaller_primes) {
  for (const int64_t p : smaller_primes) {
    if (p * p > candidate) break;
    if (candidate % p == 0) return false;
  }
  return true;
}

}  // namespace

int64_t NthPrime(int64_t n) {
  std::vector<int64_t> primes;
  for (int64_t candidate = 2; std::ssize(primes) < n; ++candidate) {
    if (IsPrime(candidate, primes)) primes.push_back(candidate);
  }
  return primes.back();
}

std::vector<int64_t> NumbersToSort(int64_t n) {
  std::vector<int64_t> numbers(n);
  Lcg random(kSeed);
  for (int64_t& v : numbers) v = random.Next();
  return numbers;
}

void ExpectSorted(std::span<const int64_t> sorted) {
  Lcg random(kSeed);
  int64_t sum = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) sum += random.Next();
  ExpectEqual("cpu's sum", std::accumulate(sorted.begin(), sorted.end(), int64_t{0}), sum);
  ExpectEqual("the length that cpu has sorted",
              std::is_sorted_until(sorted.begin(), sorted.end()) - sorted.begin(),
              std::ssize(sorted));
}

void Quicksort(std::span<int64_t> a) {
  while (a.size() > kInsertionLength) {
    const Parts parts = Partition(a);
    Quicksort(parts.low);
    a = parts.high;
  }
  InsertionSort(a);
}

// Hoare's, round the median of three.
Parts Partition(std::span<int64_t> a) {
  const int64_t pivot = MedianOf3(a.front(), a[a.size() / 2], a.back());
  int64_t* i = a.data();
  int64_t* j = a.data() + a.size() - 1;
  while (i <= j) {
    while (*i < pivot) ++i;
    while (*j > pivot) --j;
    if (i <= j) std::swap(*i++, *j--);
  }
  return {.low = {a.data(), j + 1}, .high = {i, a.data() + a.size()}};
}

std::vector<std::chrono::milliseconds> Naps(int64_t n) {
  std::vector<std::chrono::milliseconds> naps(n);
  Lcg random(kSeed);
  for (auto& nap : naps) nap = std::chrono::milliseconds(random.Next() % 1001);
  return naps;
}

void ComputeUntil(const Stopwatch& watch, std::chrono::nanoseconds time) {
  while (watch.Elapsed() < time) {
  }
}

std::vector<Field> Percentiles(std::vector<std::chrono::nanoseconds> waits) {
  std::sort(waits.begin(), waits.end());
  ExpectEqual("the number of tasks that woke early",
              std::count_if(waits.begin(), waits.end(), [](auto wait) { return wait.count() < 0; }),
              0);
  const auto us = [](std::chrono::nanoseconds wait) {
    return static_cast<double>(wait.count()) / 1e3;
  };
  return {{"p50_us", us(waits[waits.size() / 2])},
          {"p99_us", us(waits[waits.size() * 99 / 100])},
          {"max_us", us(waits.back())}};
}

Result ParkedResult(int64_t n, double bytes, std::chrono::nanoseconds spawned,
                    std::chrono::nanoseconds released) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  return {.elapsed = spawned + released,
          .extra = {
              {"bytes_per_task", bytes / static_cast<double>(n)},
              {"spawn_ms", Milliseconds(spawned).count()},
              {"release_ms", Milliseconds(released).count()},
          }};
}

}  // namespace bench
