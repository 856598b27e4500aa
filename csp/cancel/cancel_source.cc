#include "csp/cancel/cancel_source.h"

#include <algorithm>
#include <cstdint>

#include "csp/base/clock.h"

namespace csp {

CancelSource::CancelSource(const CancelToken& parent)
    : node_(internal::CancelNode::Make(parent.node())) {}

CancelSource::CancelSource(const CancelOptions& options) {
  std::int64_t deadline = internal::FromTime(options.deadline);
  if (options.timeout != absl::InfiniteDuration()) {
    deadline = std::min(deadline, internal::DeadlineAfter(internal::NowNanos(), options.timeout));
  }
  node_ = internal::CancelNode::Make(options.parent.node(), deadline, options.deadline_cause);
}

bool CancelSource::Cancel(const absl::Status& cause) const { return node_ && node_->Cancel(cause); }

}  // namespace csp
