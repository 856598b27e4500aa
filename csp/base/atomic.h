// The one door to atomics.
//
// Every structure whose protocol is model-checked (run queue, idle, attempt, wait list) names its
// atomics `Atomic<T>` and spins with `CpuRelax()`. In a normal build these are std::atomic and the
// processor's pause. A model test defines CSP_ATOMIC_HEADER, and the same source then runs under
// an explorer that owns every interleaving (csp/testing/model.h).
#ifndef CSP_BASE_ATOMIC_H_
#define CSP_BASE_ATOMIC_H_

#ifdef CSP_ATOMIC_HEADER

#include CSP_ATOMIC_HEADER

#else

#include <atomic>

namespace csp::internal {

// True in a model test: what only makes something rare is tiny there, or it would never happen.
inline constexpr bool kModelled = false;

template <class T>
using Atomic = std::atomic<T>;

// One turn of a spin loop: tells the processor that nothing useful happens here.
inline void CpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace csp::internal

#endif  // CSP_ATOMIC_HEADER

#endif  // CSP_BASE_ATOMIC_H_
