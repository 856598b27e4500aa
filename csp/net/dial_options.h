// How long to try to connect, and what ends it before.
#ifndef CSP_NET_DIAL_OPTIONS_H_
#define CSP_NET_DIAL_OPTIONS_H_

#include <algorithm>

#include "absl/time/time.h"
#include "csp/cancel/cancel_token.h"
#include "csp/time/time.h"

namespace csp::net {

struct DialOptions {
  // Whichever comes first ends the attempt: a limit and a moment; both include the name's lookup.
  absl::Duration timeout = absl::InfiniteDuration();
  absl::Time deadline = absl::InfiniteFuture();
  // As does this, beside what cancels the calling fiber.
  CancelToken token = {};
  // How long an address may take before the next one is tried beside it (RFC 8305).
  absl::Duration fallback_delay = absl::Milliseconds(250);

  // The moment that `timeout`, from now on, and `deadline` come to.
  absl::Time limit() const {
    return timeout == absl::InfiniteDuration() ? deadline : std::min(deadline, Now() + timeout);
  }
};

}  // namespace csp::net

#endif  // CSP_NET_DIAL_OPTIONS_H_
