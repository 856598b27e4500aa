#include "csp/base/asymmetric.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace csp::internal {

// Before main, so that no thread of ours runs yet.
bool has_heavy_barrier =
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

// No atomic_thread_fence: ThreadSanitizer cannot see it, and gcc refuses to compile it there.
void FullBarrier() {
  static constinit std::atomic<int> word{0};
  word.fetch_add(1, std::memory_order_seq_cst);
}

void HeavyBarrier() {
  if (has_heavy_barrier) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  } else {
    FullBarrier();
  }
}

}  // namespace csp::internal
