#include "csp/sched/internal/cpu_count.h"

#include <sched.h>

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

int UsableCpus() {
  cpu_set_t mask;
  int cpus = 1;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) cpus = std::max(1, CPU_COUNT(&mask));
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  if (const std::optional<double> quota = CgroupCpuQuota(text.str(), "/sys/fs/cgroup")) {
    cpus = std::clamp(static_cast<int>(std::ceil(*quota)), 1, cpus);
  }
  return cpus;
}

}  // namespace csp::internal
