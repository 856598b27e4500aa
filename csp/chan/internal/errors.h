// What misuse of a channel is answered with. `call` names the call.
#ifndef CSP_CHAN_INTERNAL_ERRORS_H_
#define CSP_CHAN_INTERNAL_ERRORS_H_

namespace csp::internal {

// The handle is nil; `maker` makes one that is not.
[[noreturn]] void ThrowNil(const char* call, const char* maker);
[[noreturn]] void ThrowSendOnClosed(const char* call);
[[noreturn]] void ThrowCloseOfClosed(const char* call);
[[noreturn]] void ThrowChanCapacity();
[[noreturn]] void ThrowBroadcastCapacity();

}  // namespace csp::internal

#endif  // CSP_CHAN_INTERNAL_ERRORS_H_
