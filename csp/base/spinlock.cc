#include "csp/base/spinlock.h"

#include <thread>

namespace csp::internal {

void SpinWhile(const Atomic<bool>& word) {
  constexpr int kSpinsBeforeYield = 200;
  for (int spins = 0; word.load(std::memory_order_acquire); ++spins) {
    if (spins < kSpinsBeforeYield) {
      CpuRelax();
    } else {
      std::this_thread::yield();
    }
  }
}

void SpinLock::LockSlow() {
  do {
    SpinWhile(held_);
  } while (held_.exchange(true, std::memory_order_acquire));
}

}  // namespace csp::internal
