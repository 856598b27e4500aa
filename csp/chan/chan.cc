#include "csp/chan/chan.h"

#include <string>

#include "csp/base/panic.h"

namespace csp::internal {

void ThrowSendOnClosed() {
  throw ClosedChannel(
      "Chan::Send: the channel is closed; let the senders agree on who closes it, after the last "
      "send");
}

void ThrowNil(const char* call) {
  throw NilChannel(
      std::string(call) +
      ": the channel is nil (default-constructed or moved from); make one with MakeChan");
}

void ThrowCloseOfClosed() {
  throw ClosedChannel("Chan::Close: the channel is closed already; close it in one place");
}

void ThrowCapacity() {
  throw InvalidArgument(
      "MakeChan: so many values fit into no memory (a negative capacity?); use kUnbounded for a "
      "channel without limit");
}

}  // namespace csp::internal
