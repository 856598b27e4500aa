// From what cases give (io_case.h) to what users get.
#ifndef CSP_NET_INTERNAL_IO_ERROR_H_
#define CSP_NET_INTERNAL_IO_ERROR_H_

#include <sys/types.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace csp::internal {

// Results of a case that are no system call's.
inline constexpr ssize_t kClosedResult = -100'001;
inline constexpr ssize_t kDeadlineResult = -100'002;

// The error of `type`::`verb`, from a negative result.
absl::Status IoError(const char* type, const char* verb, ssize_t result);

// The same for a result that may be a success.
absl::StatusOr<std::size_t> CountOrError(const char* type, const char* verb, ssize_t result);
absl::Status OkOrError(const char* type, const char* verb, ssize_t result);

// A call on an object that is default-constructed, moved from or released.
[[noreturn]] void ThrowEmpty(const char* type, const char* verb);

}  // namespace csp::internal

#endif  // CSP_NET_INTERNAL_IO_ERROR_H_
