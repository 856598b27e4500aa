#include "csp/base/spinlock.h"

#include <thread>

namespace csp::internal {

void SpinLock::LockSlow() {
  do {
    AwaitFreeSlow();
  } while (held_.exchange(true, std::memory_order_acquire));
}

void SpinLock::AwaitFreeSlow() const {
  constexpr int kSpinsBeforeYield = 200;
  for (int spins = 0; held_.load(std::memory_order_acquire); ++spins) {
    if (spins < kSpinsBeforeYield) {
      CpuRelax();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace csp::internal
