#include "csp/sched/internal/cpu_count.h"

#include <errno.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "csp/task/run.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"

namespace csp::internal {
namespace {

// A tree of control groups in a directory of its own.
class CpuQuotaTest : public testing::Test {
 protected:
  CpuQuotaTest() { std::filesystem::create_directories(root_); }
  ~CpuQuotaTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << text;
  }
  std::optional<double> Quota(const std::string& proc_cgroup) const {
    return CgroupCpuQuota(proc_cgroup, root_);
  }

  const std::string root_ = testing::TempDir() + "/cgroups_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CpuQuotaTest, NoneWithoutFiles) {
  EXPECT_EQ(Quota("0::/a/b\n"), std::nullopt);
  EXPECT_EQ(Quota(""), std::nullopt);
}

TEST_F(CpuQuotaTest, Version2) {
  Write("/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(Quota("0::/a/b\n"), 1.5);
  Write("/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota("0::/a/b\n"), std::nullopt);
}

TEST_F(CpuQuotaTest, Version2ATighterParentCounts) {
  Write("/cpu.max", "800000 100000\n");
  Write("/a/cpu.max", "200000 100000\n");
  Write("/a/b/cpu.max", "max 100000\n");
  Write("/a/b/c/cpu.max", "600000 100000\n");
  EXPECT_EQ(Quota("0::/a/b/c\n"), 2);
  EXPECT_EQ(Quota("0::/x\n"), 8);
  EXPECT_EQ(Quota("0::/\n"), 8);
}

TEST_F(CpuQuotaTest, Version1) {
  Write("/cpu/docker/x/cpu.cfs_quota_us", "250000\n");
  Write("/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  Write("/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota("5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n"), 2.5);
  EXPECT_EQ(Quota("5:cpu:/other\n"), std::nullopt);
  EXPECT_EQ(Quota("5:cpuset:/docker/x\n"), std::nullopt);
}

TEST_F(CpuQuotaTest, BothVersionsTheTighterCounts) {
  Write("/a/cpu.max", "300000 100000\n");
  Write("/cpu/a/cpu.cfs_quota_us", "100000\n");
  Write("/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota("1:cpu:/a\n0::/a\n"), 1);
}

TEST_F(CpuQuotaTest, Nonsense) {
  Write("/a/cpu.max", "lots\n");
  Write("/b/cpu.max", "0 0\n");
  Write("/c/cpu.max", "");
  for (const char* text :
       {"0::/a\n", "0::/b\n", "0::/c\n", ":::\n", "0:\n", "no colons\n", "0::relative\n", "\n\n"}) {
    EXPECT_EQ(Quota(text), std::nullopt) << text;
  }
}

TEST(UsableCpusTest, AtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(UsableCpus(), 1);
  EXPECT_LE(UsableCpus(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(CpusInAffinityTest, OfAMachineWithMoreThanACpuSetHolds) {
  // As the kernel does where 5,000 processors are possible.
  EXPECT_EQ(CpusInAffinity([](std::size_t size, cpu_set_t* mask) {
              if (size < 5000 / 8) {
                errno = EINVAL;
                return -1;
              }
              CPU_ZERO_S(size, mask);
              for (int cpu = 0; cpu < 4800; cpu += 2) CPU_SET_S(cpu, size, mask);
              return 0;
            }),
            2400);
}

TEST(CpusInAffinityTest, OneWhereItCannotBeTold) {
  for (const int error : {EINVAL, ENOSYS}) {
    EXPECT_EQ(CpusInAffinity([error](std::size_t, cpu_set_t*) {
                errno = error;
                return -1;
              }),
              1);
  }
}

// A12: as under `taskset -c 0`.
int WorkersOnOneCpu(int asked) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  int first = 0;
  while (!CPU_ISSET(first, &mask)) ++first;
  CPU_ZERO(&mask);
  CPU_SET(first, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
  return csp::Run([] { return GetStats().workers; }, {.workers = asked});
}

TEST(UsableCpusTest, TheAffinityMaskCounts) {
  EXPECT_CHILD(std::_Exit(WorkersOnOneCpu(0)), testing::ExitedWithCode(1), "");
  EXPECT_CHILD(std::_Exit(WorkersOnOneCpu(3)), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace csp::internal
