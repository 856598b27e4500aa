#include "csp/select/cancel_signal.h"

#include <mutex>

namespace csp::internal {

bool CancelSignal::MarkBound(CancelSweep& sweep) {
  while (!bound_.empty()) {
    if (sweep.full()) return false;
    sweep.Mark(*bound_.PopFront()->self_);
  }
  return true;
}

CancelBinding::CancelBinding(CancelSignal& signal, Parker* self)
    : signal_(signal),
      self_(self),
      outer_(self->words.binding),
      throws_(self->words.cancelled_throws) {
  self->words.binding = this;
  {
    const std::lock_guard lock(signal_.mu_);
    if (!signal_.done()) {
      signal_.bound_.PushBack(this);
      return;
    }
  }
  self->words.cancel.fetch_or(kScopeCancelled, std::memory_order_relaxed);  // the caller's own
}

CancelBinding::~CancelBinding() {
  WaitWords& words = self_->words;
  words.binding = outer_;
  {
    const std::lock_guard lock(signal_.mu_);
    signal_.bound_.Remove(this);
  }
  // What this signal's canceller has set is seen here, since the lock came in between.
  if ((words.cancel.load(std::memory_order_relaxed) & kScopeCancelled) == 0) return;
  // Acquire: pairs with CancelSweep::Mark (invariant 3).
  words.cancel.fetch_and(~kScopeCancelled, std::memory_order_acq_rel);
  if (AnOuterSignalIsSet()) {
    words.cancel.fetch_or(kScopeCancelled, std::memory_order_relaxed);
  } else if (!SaysCancelled(words.cancel.load(std::memory_order_relaxed))) {
    // Being told by a signal that it has left is nothing to hold against it.
    words.cancelled_throws = throws_;
  }
}

bool CancelBinding::AnOuterSignalIsSet() const {
  for (const CancelBinding* outer = outer_; outer != nullptr; outer = outer->outer_) {
    if (outer->signal_.done()) return true;
  }
  return false;
}

}  // namespace csp::internal
