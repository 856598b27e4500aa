#include "csp/sched/internal/thread_setup.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstddef>

namespace csp::internal {
namespace {

constexpr std::size_t kSignalStackSize = std::size_t{64} << 10;

}  // namespace

void SetUpThread(Context& root) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    pthread_attr_getstack(&attributes, &low, &root.stack_size);
    root.stack_bottom = low;
    pthread_attr_destroy(&attributes);
  }
#ifdef CSP_TSAN
  root.tsan_fiber = __tsan_get_current_fiber();
#endif
  // The kernel otherwise rounds timed waits up by 50 us, more than a whole nap of the watcher.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);

  stack_t current;
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) != 0) {
    void* memory =
        mmap(nullptr, kSignalStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;  // an overflow is then not reported
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kSignalStackSize;
    sigaltstack(&stack, nullptr);
  }
}

void TearDownThread() {
  stack_t current;
  if (sigaltstack(nullptr, &current) != 0 || current.ss_size != kSignalStackSize) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(current.ss_sp, kSignalStackSize);
}

}  // namespace csp::internal
