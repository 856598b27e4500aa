// How to spin for a bit of a word that its holder keeps for a few instructions: on a plain pause,
// and after a while giving the processor away, since the kernel may have preempted the holder.
#ifndef CSP_SYNC_INTERNAL_PATIENCE_H_
#define CSP_SYNC_INTERNAL_PATIENCE_H_

#include <thread>

#include "csp/base/atomic.h"

namespace csp::internal {

class Patience {
 public:
  // One turn of the loop.
  void Spin() {
    constexpr int kSpinsBeforeYield = 200;
    if (kModelled || ++spins_ < kSpinsBeforeYield) {
      CpuRelax();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  int spins_ = 0;
};

}  // namespace csp::internal

#endif  // CSP_SYNC_INTERNAL_PATIENCE_H_
