#include "csp/base/thread_context.h"

namespace csp::internal {
namespace {

// initial-exec: one load instead of a call to __tls_get_addr. The few words come out of the space
// that the C library keeps for libraries loaded later, so dlopen works as well.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadContext context;

}  // namespace

// The empty asm hides where the address comes from: without it both compilers prove, even for a
// noinline function, that two calls return the same and fold them across a switch.
[[gnu::noinline]] ThreadContext* CurrentThread() {
  ThreadContext* address = &context;
  asm volatile("" : "+r"(address)::"memory");
  return address;
}

}  // namespace csp::internal
