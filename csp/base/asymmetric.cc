#include "csp/base/asymmetric.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace csp::internal {

// Before main, so that no thread of ours runs yet.
bool has_heavy_barrier =
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

void HeavyBarrier() {
  if (has_heavy_barrier) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace csp::internal
