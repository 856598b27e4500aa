#include "csp/base/asymmetric.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace csp::internal {

constinit bool has_heavy_barrier = false;

namespace {

// Before every initialiser of the program, which may start threads of ours.
[[gnu::constructor(101)]] void RegisterForHeavyBarriers() {
  has_heavy_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

// No atomic_thread_fence: ThreadSanitizer cannot see it, and gcc refuses to compile it there.
void FullBarrier() {
  static constinit std::atomic<int> word{0};
  word.fetch_add(1, std::memory_order_seq_cst);
}

void HeavyBarrier() {
  if (!has_heavy_barrier) {
    FullBarrier();
    return;
  }
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  // The light side has relied on it: without the barrier two threads would hold one lock.
  std::fprintf(stderr,
               "csp: membarrier(2) worked when the process started and is now refused (%s); allow "
               "it in the seccomp filter, or refuse it from the start\n",
               std::strerror(errno));
  std::abort();
}

}  // namespace csp::internal
