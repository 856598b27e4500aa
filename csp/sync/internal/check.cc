#include "csp/sync/internal/check.h"

#include <cstdio>
#include <cstdlib>

#include "csp/base/panic.h"

namespace csp::internal {

void ThrowSyncError(const char* message) { throw SyncError(message); }

void ThrowBadArgument(const char* message) { throw InvalidArgument(message); }

void AbortDestroyedInUse(const char* message) {
  std::fprintf(stderr, "csp: %s\n", message);
  std::abort();
}

}  // namespace csp::internal
