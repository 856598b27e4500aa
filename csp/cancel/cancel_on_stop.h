// From the standard's cancellation to csp's: a std::stop_token cancels a CancelSource.
//
//   std::jthread worker([](std::stop_token stop) {
//     csp::CancelSource source;
//     csp::CancelOnStop link(stop, source);
//     Serve(source.token());
//   });
//
// (The other way round is StopOnDone, in csp/task.)
//
// Thread rules: as std::stop_callback.
#ifndef CSP_CANCEL_CANCEL_ON_STOP_H_
#define CSP_CANCEL_CANCEL_ON_STOP_H_

#include <stop_token>
#include <utility>

#include "absl/status/status.h"
#include "csp/cancel/cancel_source.h"

namespace csp {

class CancelOnStop {
 public:
  // Cancels the source when `stop` is requested, with the cause `cause` (OK stands for
  // absl::CancelledError()); at once if it has been. The source may go before this.
  CancelOnStop(std::stop_token stop, const CancelSource& source,
               absl::Status cause = absl::CancelledError("std::stop_token: stop requested"))
      : callback_(std::move(stop), Cancel{source.token(), std::move(cause)}) {}

 private:
  struct Cancel {
    CancelToken token;
    absl::Status cause;

    void operator()() const noexcept {
      if (token.can_be_cancelled()) token.node()->Cancel(cause);
    }
  };

  std::stop_callback<Cancel> callback_;
};

}  // namespace csp

#endif  // CSP_CANCEL_CANCEL_ON_STOP_H_
