// The size that keeps two hot variables from sharing a cache line.
#ifndef CSP_BASE_CACHE_LINE_H_
#define CSP_BASE_CACHE_LINE_H_

#include <cstddef>

namespace csp::internal {

// A constant of our own instead of std::hardware_destructive_interference_size: that one may differ
// between translation units compiled with other -mtune flags, which would break the ABI.
inline constexpr std::size_t kCacheLine = 64;

}  // namespace csp::internal

#endif  // CSP_BASE_CACHE_LINE_H_
