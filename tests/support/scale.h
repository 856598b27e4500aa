// How much a test does: one place that knows what a sanitizer costs and where it gives up.
#ifndef TESTS_SUPPORT_SCALE_H_
#define TESTS_SUPPORT_SCALE_H_

#include <algorithm>

namespace csp {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kTsan = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif
#else
inline constexpr bool kTsan = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAsan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAsan = true;
#else
inline constexpr bool kAsan = false;
#endif
#else
inline constexpr bool kAsan = false;
#endif

// A soak variant of a test is compiled with CSP_SOAK.
#if defined(CSP_SOAK)
inline constexpr bool kSoak = true;
#else
inline constexpr bool kSoak = false;
#endif

// `rounds` of something that takes about as long as a few switches; fewer where each costs more,
// more in a soak test.
constexpr int Rounds(int rounds) {
  const int share = kTsan ? 8 : kAsan ? 3 : 1;
  return std::max(rounds / share, 1) * (kSoak ? 50 : 1);
}

// As many fibers as may live at once: `count`, but no more than the build stands. (gcc's TSan dies
// at 8,128 fibers in the life of a process that keeps them all.)
constexpr int Fibers(int count) { return std::min(count, kTsan ? 2'000 : kAsan ? 10'000 : count); }

}  // namespace csp

#endif  // TESTS_SUPPORT_SCALE_H_
