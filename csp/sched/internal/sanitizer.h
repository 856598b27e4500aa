// What the sanitizers must be told, and which of them are there.
#ifndef CSP_SCHED_INTERNAL_SANITIZER_H_
#define CSP_SCHED_INTERNAL_SANITIZER_H_

#if defined(__SANITIZE_ADDRESS__)
#define CSP_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CSP_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define CSP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CSP_TSAN 1
#endif
#endif

#ifdef CSP_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef CSP_TSAN
#include <sanitizer/tsan_interface.h>
#endif

// For functions that end a fiber without returning. TSan notes each function's entry and exit on
// the fiber's shadow stack; entries without an exit would fill it as the stack is used again.
#if !defined(CSP_TSAN)
#define CSP_NO_TSAN
#elif defined(__clang__)
#define CSP_NO_TSAN __attribute__((disable_sanitizer_instrumentation))
#else
#define CSP_NO_TSAN __attribute__((no_sanitize("thread")))
#endif

namespace csp::internal {

#ifdef CSP_ASAN
inline constexpr bool kAsan = true;
#else
inline constexpr bool kAsan = false;
#endif
#ifdef CSP_TSAN
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_SANITIZER_H_
