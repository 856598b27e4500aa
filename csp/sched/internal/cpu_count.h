// How many processors this process may use.
#ifndef CSP_SCHED_INTERNAL_CPU_COUNT_H_
#define CSP_SCHED_INTERNAL_CPU_COUNT_H_

#include <optional>
#include <string>

namespace csp::internal {

// The affinity mask's size, lowered to the cgroup CPU quota (rounded up) where one is set, in any
// group from the process's own up to the root; version 1 and 2. At least 1.
int UsableCpus();

// The quota alone, in processors; nothing if there is none. `proc_cgroup` is the text of
// /proc/self/cgroup and `mount` where the groups are mounted: parameters so that tests can bring
// their own.
std::optional<double> CgroupCpuQuota(const std::string& proc_cgroup, const std::string& mount);

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_CPU_COUNT_H_
