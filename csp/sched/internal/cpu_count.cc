#include "csp/sched/internal/cpu_count.h"

#include <errno.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace csp::internal {
namespace {

// cpu.max of version 2: "QUOTA PERIOD" or "max PERIOD".
std::optional<double> QuotaV2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  double quota = 0;
  double period = 0;
  if (file >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

// cpu.cfs_quota_us of version 1: -1 for none.
std::optional<double> QuotaV1(const std::string& group) {
  std::ifstream quota_file(group + "/cpu.cfs_quota_us");
  std::ifstream period_file(group + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) {
    return quota / period;
  }
  return std::nullopt;
}

// The tightest quota of `path` and the groups above it.
template <class Quota>
std::optional<double> Tightest(const std::string& mount, std::string path, Quota quota) {
  std::optional<double> least;
  for (;;) {
    if (const std::optional<double> found = quota(mount + path)) {
      least = std::min(least.value_or(*found), *found);
    }
    const std::size_t last = path.find_last_of('/');
    if (path == "/" || last == std::string::npos) return least;
    path.erase(last);
  }
}

}  // namespace

std::optional<double> CgroupCpuQuota(const std::string& proc_cgroup, const std::string& mount) {
  std::istringstream lines(proc_cgroup);
  std::string line;
  std::optional<double> least;
  while (std::getline(lines, line)) {  // "ID:CONTROLLERS:PATH"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    std::optional<double> found;
    if (controllers == ",,") {
      found = Tightest(mount, path, QuotaV2);
    } else if (controllers.find(",cpu,") != std::string::npos) {
      found = Tightest(mount + "/cpu", path, QuotaV1);
    }
    if (found.has_value()) least = std::min(least.value_or(*found), *found);
  }
  return least;
}

int CpusInAffinity(const std::function<int(std::size_t, cpu_set_t*)>& get_mask) {
  // A cpu_set_t has room for 1,024, and the kernel wants room for all that there might ever be.
  constexpr std::size_t kMostCpus = std::size_t{1} << 20;
  for (std::size_t room = CPU_SETSIZE; room <= kMostCpus; room *= 2) {
    cpu_set_t* mask = CPU_ALLOC(room);
    if (mask == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(room);
    const int error = get_mask(size, mask) == 0 ? 0 : errno;
    const int cpus = error == 0 ? CPU_COUNT_S(size, mask) : 0;
    CPU_FREE(mask);
    if (error == 0) return std::max(1, cpus);
    if (error != EINVAL) break;
  }
  return 1;
}

int UsableCpus() {
  int cpus = CpusInAffinity(
      [](std::size_t size, cpu_set_t* mask) { return sched_getaffinity(0, size, mask); });
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  if (const std::optional<double> quota = CgroupCpuQuota(text.str(), "/sys/fs/cgroup")) {
    cpus = std::clamp(static_cast<int>(std::ceil(*quota)), 1, cpus);
  }
  return cpus;
}

}  // namespace csp::internal
