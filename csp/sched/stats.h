// What a runtime has done so far, for tests, dashboards and the curious. Each figure is exact when
// the runtime is quiet, and a moment old otherwise.
#ifndef CSP_SCHED_STATS_H_
#define CSP_SCHED_STATS_H_

#include <cstddef>
#include <cstdint>

namespace csp {

struct RuntimeStats {
  int workers = 0;
  std::uint64_t tasks_spawned = 0;
  std::uint64_t tasks_finished = 0;
  std::uint64_t switches = 0;        // choices of what to run next
  std::uint64_t parks = 0;           // waits that suspended a fiber
  std::uint64_t wakeups = 0;         // fibers made ready by a worker
  std::uint64_t steals = 0;          // fibers and tasks taken from another worker
  std::uint64_t select_retries = 0;  // selects that began anew because a peer was half armed
  std::uint64_t timers_fired = 0;
  std::size_t timers = 0;         // armed now
  std::size_t stacks_mapped = 0;  // in the whole process: address space set aside
  std::size_t stacks_hot = 0;     // in the whole process: in use or kept warm
};

}  // namespace csp

#endif  // CSP_SCHED_STATS_H_
