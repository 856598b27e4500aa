#include "csp/net/internal/io_error.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "csp/base/panic.h"
#include "csp/net/io_status.h"

namespace csp {
namespace internal {
namespace {

constexpr char kErrno[] = "csp/net/errno";
constexpr char kClosed[] = "csp/net/closed";

}  // namespace

absl::Status IoError(const char* type, const char* verb, ssize_t result) {
  const std::string call = absl::StrCat(type, "::", verb);
  if (result == kDeadlineResult) {
    return absl::DeadlineExceededError(absl::StrCat(call, ": the deadline has passed"));
  }
  if (result == kClosedResult) {
    absl::Status status = absl::FailedPreconditionError(absl::StrCat(call, ": closed"));
    status.SetPayload(kClosed, absl::Cord());
    return status;
  }
  const int error = static_cast<int>(-result);
  absl::Status status = absl::ErrnoToStatus(error, call);
  status.SetPayload(kErrno, absl::Cord(std::to_string(error)));
  return status;
}

absl::StatusOr<std::size_t> CountOrError(const char* type, const char* verb, ssize_t result) {
  if (result >= 0) [[likely]] {
    return static_cast<std::size_t>(result);
  }
  return IoError(type, verb, result);
}

absl::Status OkOrError(const char* type, const char* verb, ssize_t result) {
  return result >= 0 ? absl::OkStatus() : IoError(type, verb, result);
}

void ThrowEmpty(const char* type, const char* verb) {
  throw InvalidArgument(absl::StrCat(
      type, "::", verb, ": the object is empty (default-constructed, moved from or released)"));
}

}  // namespace internal

namespace net {

int ErrnoOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(internal::kErrno);
  int error = 0;
  return payload && absl::SimpleAtoi(static_cast<std::string>(*payload), &error) ? error : 0;
}

bool IsClosed(const absl::Status& status) {
  return status.GetPayload(internal::kClosed).has_value();
}

}  // namespace net
}  // namespace csp
