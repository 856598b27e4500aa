// The switch from one stack to another; the only file that knows Boost.Context.
//
// Invariants
//  1. A Context is resumed at most once for each time it was saved: `point` is null from the
//     moment it is resumed until whoever runs next on the thread has saved it again.
//  2. The C++ runtime keeps its exception state (exceptions being handled, count of uncaught
//     ones) per thread. Every switch stores the departing side's and brings the arriving side's,
//     so a fiber may suspend in a catch block or in a destructor during unwinding, and go on
//     elsewhere.
//  3. Nothing read from a thread_local before the switch is used after it: the fiber may have
//     moved. The thread's scheduler state comes through the switch as `cargo`.
#ifndef CSP_SCHED_INTERNAL_SWITCH_H_
#define CSP_SCHED_INTERNAL_SWITCH_H_

#include <cxxabi.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#include "csp/base/atomic.h"
#include "csp/sched/internal/sanitizer.h"

namespace csp::internal {

// The Itanium C++ ABI's per-thread record (__cxa_eh_globals): its layout is part of the ABI.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

// The calling thread's record. Its address is the thread's for life, but a fiber's only until it
// suspends.
inline ExceptionState* ThreadExceptionState() {
  return reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

// One side of a switch: a fiber, or a worker thread's own stack.
struct Context {
  Atomic<void*> point{nullptr};  // where to resume; null while it runs or is on its way out
  ExceptionState exceptions;

  // For the sanitizers, which follow stacks.
  const void* stack_bottom = nullptr;
  std::size_t stack_size = 0;
  void* asan_fake_stack = nullptr;
  void* tsan_fiber = nullptr;
};

using ContextEntry = void (*)(boost::context::detail::transfer_t);

// Lets `context` begin at `entry`, on the stack that ends at `stack_top`.
inline void PrepareContext(Context& context, void* stack_top, ContextEntry entry) {
  context.exceptions = {};
  context.asan_fake_stack = nullptr;  // the one of the stack's last owner has been given up
  context.point.store(boost::context::detail::make_fcontext(stack_top, context.stack_size, entry),
                      std::memory_order_relaxed);
}

// What goes along with a switch: a worker's, who derives from it.
struct Switch {
  Context* from = nullptr;
  Context* to = nullptr;
};

// A switch that has been prepared and only remains to be made; empty if there is none to make.
struct Departure {
  void* point = nullptr;
  Switch* cargo = nullptr;
  explicit operator bool() const { return point != nullptr; }
};

// Makes it. Returns what whoever switches back brings along. `ends`: nobody will.
//
// Inlined, and through Park and YieldNow into the user's code: each frame between the user and the
// switch is a mispredicted return, since the processor's return stack still holds the other fiber's
// callers. With five such frames a ping-pong took 126 ns, with one 68.
[[gnu::always_inline]] inline boost::context::detail::transfer_t Leave(
    const Departure& departure, [[maybe_unused]] bool ends = false) {
#ifdef CSP_ASAN
  Switch& cargo = *departure.cargo;
  __sanitizer_start_switch_fiber(ends ? nullptr : &cargo.from->asan_fake_stack,
                                 cargo.to->stack_bottom, cargo.to->stack_size);
#endif
#ifdef CSP_TSAN
  __tsan_switch_to_fiber(departure.cargo->to->tsan_fiber, 0);
#endif
  return boost::context::detail::jump_fcontext(departure.point, departure.cargo);
}

// First thing on the arriving side.
inline void FinishSwitch([[maybe_unused]] Context& arrived) {
#ifdef CSP_ASAN
  __sanitizer_finish_switch_fiber(arrived.asan_fake_stack, nullptr, nullptr);
#endif
}

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_SWITCH_H_
