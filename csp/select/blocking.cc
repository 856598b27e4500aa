#include "csp/select/blocking.h"

#include <exception>
#include <thread>

#include "csp/base/asymmetric.h"
#include "csp/base/panic.h"
#include "csp/sched/cancel_report.h"
#include "csp/sched/runtime.h"
#include "csp/sched/yield.h"
#include "csp/select/direct_wait.h"

namespace csp::internal {

bool Shielded(const Parker& parker) {
  return parker.words.shield_depth != 0 || std::uncaught_exceptions() != 0;
}

namespace {

void ThrowIfCancelledAt(Parker& parker, const void* call) {
  const std::uint64_t word = parker.words.cancel.load(std::memory_order_acquire);
  if (!SaysCancelled(word) || Shielded(parker)) return;
  constexpr std::uint32_t kWarnAfter = 1000;
  const std::uint32_t throws = ++parker.words.cancelled_throws;
  if (throws == kWarnAfter) WarnOfSwallowing(parker, throws);
  if (throws > 1) YieldNow();
  NoteCancelledCall(parker, call);
  throw Cancelled();
}

}  // namespace

// Not inlined, so that the return address lies in the blocking call.
[[gnu::noinline]] void ThrowIfCancelled(Parker& parker) {
  ThrowIfCancelledAt(parker, __builtin_return_address(0));
}

void YieldForBudget() {
  Runtime::CheckNotForked();
  if (CurrentThread()->worker != nullptr) {
    YieldForTurn();
  } else {
    CurrentThread()->budget = INT32_MAX;
  }
}

namespace {

// Ends a cancellable wait; false if there is none in progress.
bool EndWait(Parker& parker) {
  const std::uint64_t word = parker.words.attempt.load(std::memory_order_acquire);
  if (!Attempt::IsCancellable(word) || !Attempt::Claim(&parker, word, Attempt::kCancelled)) {
    return false;
  }
  parker.Unpark();
  return true;
}

}  // namespace

void DirectWait::AwaitUnpinned() {
  constexpr int kSpinsBeforeYield = 200;
  for (int spins = 0; self_->words.pins.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpinsBeforeYield) {
      CpuRelax();
    } else {
      std::this_thread::yield();  // the canceller may not be running
    }
  }
}

[[gnu::noinline]] void DirectWait::Refuse() {
  withdrawn_ = false;
  ThrowIfCancelledAt(*self_, __builtin_return_address(0));
  shielded_ = Shielded(*self_);
}

bool CancelParker(Parker& parker, std::uint64_t number) {
  return CancelSweep().Cancel(parker, number);
}

bool CancelSweep::Cancel(Parker& parker, std::uint64_t number) {
  std::uint64_t word = parker.words.cancel.load(std::memory_order_relaxed);
  do {
    if (NumberIn(word) != number || (word & kTaskCancelled) != 0) return false;
  } while (!parker.words.cancel.compare_exchange_weak(word, word | kTaskCancelled,
                                                      std::memory_order_seq_cst));
  // A target that waits in a select is seen to at once, without a barrier.
  if (EndWait(parker)) return true;
  marked_[count_++] = &parker;
  if (full()) Flush();
  return true;
}

void CancelSweep::Mark(Parker& parker) {
  // Release: the owner, who clears the bit when it is bound no longer, sees what was done before
  // (CancelBinding's destructor).
  parker.words.cancel.fetch_or(kScopeCancelled, std::memory_order_seq_cst);
  // The caller itself does not wait.
  if (&parker != CurrentThread()->parker) marked_[count_++] = &parker;
}

void CancelSweep::Flush() {
  std::size_t left = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    Parker* parker = marked_[i];
    if (EndWait(*parker)) continue;
    marked_[left++] = parker;
  }
  count_ = 0;
  if (left == 0) return;
  // The others may wait for one object alone, or be about to wait: a barrier makes sure that their
  // words are seen here or the flag there. Until it has been seen to, the pin keeps the frame of a
  // wait for one object alive; nothing that takes time comes in between.
  for (std::size_t i = 0; i < left; ++i) {
    marked_[i]->words.pins.fetch_add(1, std::memory_order_seq_cst);
  }
  HeavyBarrier();
  for (std::size_t i = 0; i < left; ++i) {
    Parker& parker = *marked_[i];
    DirectWait* direct = parker.words.direct.load(std::memory_order_acquire);
    const bool withdrawn = direct != nullptr && direct->WithdrawForCancel();
    parker.words.pins.fetch_sub(1, std::memory_order_acq_rel);
    if (withdrawn) {
      parker.Unpark();
    } else if (direct == nullptr) {
      EndWait(parker);
    }
  }
}

}  // namespace csp::internal
