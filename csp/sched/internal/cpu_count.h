// How many processors this process may use.
#ifndef CSP_SCHED_INTERNAL_CPU_COUNT_H_
#define CSP_SCHED_INTERNAL_CPU_COUNT_H_

#include <sched.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace csp::internal {

// The affinity mask's size, lowered to the cgroup CPU quota (rounded up) where one is set, in any
// group from the process's own up to the root; version 1 and 2. At least 1.
int UsableCpus();

// The number of processors in a mask; 1 if there is no telling. `get_mask` is sched_getaffinity for
// the calling thread, a parameter so that tests can bring a larger machine.
int CpusInAffinity(const std::function<int(std::size_t size, cpu_set_t* mask)>& get_mask);

// The quota alone, in processors; nothing if there is none. `proc_cgroup` is the text of
// /proc/self/cgroup and `mount` where the groups are mounted: parameters so that tests can bring
// their own.
std::optional<double> CgroupCpuQuota(const std::string& proc_cgroup, const std::string& mount);

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_CPU_COUNT_H_
