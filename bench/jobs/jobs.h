// The jobs of the suite on csp, one file for each concept.

#ifndef CSP_BENCH_JOBS_JOBS_H_
#define CSP_BENCH_JOBS_JOBS_H_

#include <cstdint>

#include "bench/harness/harness.h"

namespace bench {

// spawn.cc
Result Spawn(int64_t n);
Result SpawnJoin(int64_t n);
Result SpawnBlock(int64_t n);
Result Yield(int64_t n);
Result Skynet(int64_t n);

// channels.cc
Result PingPong(int64_t n);
Result Buffered(int64_t n);
Result Mpmc(int64_t n);
Result UnbufferedMpmc(int64_t n);
Result Ring(int64_t n);
Result Sieve(int64_t n);

// selects.cc
Result Select4(int64_t n);
Result SelectBuffered(int64_t n);
Result SelectTimeout(int64_t n);

// timers.cc
Result Sleepers(int64_t n);
Result WakeLatency(int64_t n);

// scopes.cc
Result Scope(int64_t n);
Result CancelTree(int64_t n);
Result CancelScope(int64_t n);

// memory.cc, mutex.cc, cpu.cc
Result Parked(int64_t n);
Result Mutex(int64_t n);
Result Cpu(int64_t n);

}  // namespace bench

#endif  // CSP_BENCH_JOBS_JOBS_H_
