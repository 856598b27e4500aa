// What the sanitizers must be told, and which of them are there.
#ifndef CSP_SCHED_INTERNAL_SANITIZER_H_
#define CSP_SCHED_INTERNAL_SANITIZER_H_

#include <cstddef>

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
#include <sys/mman.h>

#include <cstring>
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

// A stack that has served, and one that is about to serve. Under ASan a free stack may not be
// touched; and it is emptied, since LeakSanitizer takes all stacks for roots, and what only a dead
// frame points to has leaked.
inline void BuryStack([[maybe_unused]] const char* low, [[maybe_unused]] std::size_t size) {
#ifdef CSP_ASAN
  constexpr std::size_t kPage = 4096;
  auto* bottom = const_cast<char*>(low);
  const std::size_t pages = size / kPage * kPage;
  ASAN_UNPOISON_MEMORY_REGION(low, size);
  madvise(bottom, pages, MADV_DONTNEED);
  std::memset(bottom + pages, 0, size - pages);
  ASAN_POISON_MEMORY_REGION(low, size);
#endif
}
inline void RaiseStack([[maybe_unused]] const char* low, [[maybe_unused]] std::size_t size) {
#ifdef CSP_ASAN
  ASAN_UNPOISON_MEMORY_REGION(low, size);
#endif
}

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_SANITIZER_H_
