#include "csp/select/blocking.h"

#include <cinttypes>
#include <cstdio>
#include <exception>

#include "csp/base/asymmetric.h"
#include "csp/base/panic.h"
#include "csp/sched/yield.h"

namespace csp::internal {

bool Shielded(const Parker& parker) {
  return parker.words.shield_depth != 0 || std::uncaught_exceptions() != 0;
}

void ThrowIfCancelled(Parker& parker) {
  const std::uint64_t word = parker.words.cancel.load(std::memory_order_acquire);
  if ((word & 1) == 0 || Shielded(parker)) return;
  constexpr std::uint32_t kWarnAfter = 1000;
  const std::uint32_t throws = ++parker.words.cancelled_throws;
  if (throws == kWarnAfter) {
    std::fprintf(stderr,
                 "csp: fiber %" PRIu64 " has been told %" PRIu32
                 " times that it is cancelled and goes on; let csp::Cancelled pass\n",
                 word >> 1, throws);
  }
  if (throws > 1) YieldNow();
  throw Cancelled();
}

void YieldForBudget() {
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

bool CancelParker(Parker& parker, std::uint64_t number) {
  std::uint64_t expected = number << 1;
  if (!parker.words.cancel.compare_exchange_strong(expected, expected | 1,
                                                   std::memory_order_seq_cst)) {
    return false;
  }
  // Usually the target waits, and is seen to. If not, it may be just about to: then the barrier
  // makes sure that its word is seen here or the flag there. (The word may by now belong to another
  // task on the same fiber: that one is claimed, finds its own flag unset, and waits anew.)
  if (EndWait(parker)) return true;
  HeavyBarrier();
  EndWait(parker);
  return true;
}

}  // namespace csp::internal
