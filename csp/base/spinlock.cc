#include "csp/base/spinlock.h"

#include <thread>

namespace csp::internal {

void SpinLock::LockSlow() {
  constexpr int kSpinsBeforeYield = 200;
  int spins = 0;
  do {
    while (held_.load(std::memory_order_relaxed)) {
      if (++spins < kSpinsBeforeYield) {
        CpuRelax();
      } else {
        std::this_thread::yield();
      }
    }
  } while (held_.exchange(true, std::memory_order_acquire));
}

}  // namespace csp::internal
