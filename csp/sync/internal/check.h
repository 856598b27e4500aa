// How misuse of csp/sync is reported.
#ifndef CSP_SYNC_INTERNAL_CHECK_H_
#define CSP_SYNC_INTERNAL_CHECK_H_

namespace csp::internal {

// Throws SyncError with this text, which names the call and the remedy.
[[noreturn]] void ThrowSyncError(const char* message);

// Throws InvalidArgument.
[[noreturn]] void ThrowBadArgument(const char* message);

// A destructor cannot throw: prints the text and aborts. For checks of debug builds.
[[noreturn]] void AbortDestroyedInUse(const char* message);

}  // namespace csp::internal

#endif  // CSP_SYNC_INTERNAL_CHECK_H_
