#include "csp/cancel/cancel_token.h"

#include "csp/base/panic.h"
#include "csp/select/block.h"

namespace csp {

void CancelToken::Wait() const {
  if (!node_) {
    throw NoLiveCase(
        "CancelToken::Wait: the token can never be cancelled; take it from a CancelSource");
  }
  DoneEvent done(*this);
  Block(done);
}

}  // namespace csp
