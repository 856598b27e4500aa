// How much a test does: one place that knows what a sanitizer costs and where it gives up.
//
// All of it is internal to each source: a soak test and what it links are compiled differently.
#ifndef TESTS_SUPPORT_SCALE_H_
#define TESTS_SUPPORT_SCALE_H_

#include <algorithm>
#include <chrono>

namespace csp {

#if defined(__SANITIZE_THREAD__)
constexpr bool kTsan = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif
#else
constexpr bool kTsan = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAsan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kAsan = true;
#else
constexpr bool kAsan = false;
#endif
#else
constexpr bool kAsan = false;
#endif

// A soak variant of a test is compiled with CSP_SOAK.
#if defined(CSP_SOAK)
constexpr bool kSoak = true;
#else
constexpr bool kSoak = false;
#endif

// `rounds` of something that takes about as long as a few switches; fewer where each costs more,
// more in a soak test.
static constexpr int Rounds(int rounds) {
  const int share = kTsan ? 8 : kAsan ? 3 : 1;
  return std::max(rounds / share, 1) * (kSoak ? 50 : 1);
}

// As many fibers as may live at once: `count`, but no more than the build stands. (gcc's TSan dies
// at 8,128 fibers in the life of a process that keeps them all.)
static constexpr int Fibers(int count) {
  return std::min(count, kTsan ? 2'000 : kAsan ? 10'000 : count);
}

// How long a test may take before it is said to hang; no test comes near.
constexpr std::chrono::seconds kPatience((kTsan || kAsan ? 300 : 60) * (kSoak ? 20 : 1));

}  // namespace csp

#endif  // TESTS_SUPPORT_SCALE_H_
