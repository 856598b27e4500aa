#include "csp/base/random.h"

#include <atomic>
#include <chrono>
#include <cstdlib>

namespace csp::internal {
namespace {

std::uint64_t InitialSeed() {
  if (const char* text = std::getenv("CSP_SEED")) return std::strtoull(text, nullptr, 0);
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::atomic<std::uint64_t>& ProcessSeed() {
  static std::atomic<std::uint64_t> seed{InitialSeed()};
  return seed;
}

constinit std::atomic<std::uint64_t> generators{0};

}  // namespace

void SetRandomSeed(std::uint64_t seed) {
  ProcessSeed().store(seed, std::memory_order_relaxed);
  generators.store(0, std::memory_order_relaxed);
}

// splitmix64 (Steele, Lea, Flood 2014) spreads neighbouring numbers over the whole range.
std::uint64_t NextRandomSeed() {
  const std::uint64_t number = generators.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint64_t z = ProcessSeed().load(std::memory_order_relaxed) + number * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace csp::internal
