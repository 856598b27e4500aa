// Who is there and what it waits for.
//
//   std::cerr << csp::DumpFibers();
//
//   fiber 17 "digester" parked in chan Recv on 0x55… for 1.2s, stack 128 KiB, spawned at Digest()…
//   fiber 18 running or ready, stack 128 KiB, spawned at main…
//   task 19 not started, spawned at main…
//   thread 4711 parked in task Join on 0x55… for 2s
#ifndef CSP_SCHED_DUMP_H_
#define CSP_SCHED_DUMP_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace csp {

// Every fiber, unstarted task and plain thread that waits in csp, one line each. May be called from
// any thread at any time, also from a debugger (`call csp::PrintFibers()`); what runs meanwhile may
// appear as it was a moment ago.
// At most `limit` lines, then how many more there are.
std::string DumpFibers(std::size_t limit = SIZE_MAX);

// DumpFibers to the standard error, for debuggers.
void PrintFibers();

namespace internal {

class Runtime;

// The fibers and unstarted tasks of one runtime alone.
std::string DumpFibersOf(Runtime& runtime, std::size_t limit);

}  // namespace internal

}  // namespace csp

#endif  // CSP_SCHED_DUMP_H_
