// The library's one source of randomness: select order, steal victims. (Timers of one deadline fire
// in the order that the heap's shape gives them, which is no choice.)
//
// Every generator is seeded from one process-wide seed, so that a run whose threads are scheduled
// alike chooses alike. CSP_SEED in the environment, or SetRandomSeed before the first use, fixes
// it; otherwise it comes from the clock.
#ifndef CSP_BASE_RANDOM_H_
#define CSP_BASE_RANDOM_H_

#include <cstdint>

namespace csp::internal {

// xorshift64* (Vigna 2016): one multiplication a number, good high bits. Not thread-safe: one a
// worker, one a foreign thread.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed != 0 ? seed : 1) {}

  std::uint32_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1DULL) >> 32);
  }

  // Uniform in [0, bound) but for a bias below bound / 2^32 (Lemire 2016, without the rejection).
  std::uint32_t Below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((std::uint64_t{Next()} * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

// Seeds every generator made from here on, and restarts their numbering.
void SetRandomSeed(std::uint64_t seed);

// The seed of the next generator: the process's seed mixed with a running number.
std::uint64_t NextRandomSeed();

}  // namespace csp::internal

#endif  // CSP_BASE_RANDOM_H_
