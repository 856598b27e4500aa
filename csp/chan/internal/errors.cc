#include "csp/chan/internal/errors.h"

#include <string>

#include "csp/base/panic.h"

namespace csp::internal {

void ThrowNil(const char* call, const char* maker) {
  throw NilChannel(std::string(call) +
                   ": the channel is nil (default-constructed or moved from); make one with " +
                   maker);
}

void ThrowSendOnClosed(const char* call) {
  throw ClosedChannel(std::string(call) +
                      ": the channel is closed; let the senders agree on who closes it, after the "
                      "last send");
}

void ThrowCloseOfClosed(const char* call) {
  throw ClosedChannel(std::string(call) + ": the channel is closed already; close it in one place");
}

void ThrowChanCapacity() {
  throw InvalidArgument(
      "MakeChan: so many values fit into no memory (a negative capacity?); use kUnbounded for a "
      "channel without limit");
}

void ThrowBroadcastCapacity() {
  throw InvalidArgument(
      "MakeBroadcast: the capacity is 0, or so large that it fits into no memory (negative?); say "
      "how many values are kept for readers that are slow");
}

}  // namespace csp::internal
