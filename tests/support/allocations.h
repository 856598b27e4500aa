// Counts what the process allocates, on all threads. Whoever links this has operator new replaced.
//
//   const long before = csp::Allocations();
//   …
//   EXPECT_LE(csp::Allocations() - before, csp::kAllocatedOnce);
#ifndef TESTS_SUPPORT_ALLOCATIONS_H_
#define TESTS_SUPPORT_ALLOCATIONS_H_

namespace csp {

// How many there have been.
long Allocations();

// What the runtime allocates once: its threads as they begin, the heap of timers when it doubles.
inline constexpr long kAllocatedOnce = 40;

}  // namespace csp

#endif  // TESTS_SUPPORT_ALLOCATIONS_H_
