// An idle runtime uses no processor time: counted by the kernel, whatever the machine's load.
#include <sys/resource.h>

#include <chrono>
#include <thread>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"

namespace csp {
namespace {

constexpr std::chrono::seconds kIdle(1);

// Microseconds of processor time that the process uses while `wait` runs.
template <class F>
long CpuMicroseconds(F wait) {
  const auto used = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  const long before = used();
  wait();
  return used() - before;
}

constexpr long kFew = 20'000;

TEST(IdleCpuTest, ASleepingMain) {
  csp::Run(
      [] {
        for (int i = 0; i < 1000; ++i) Go([] { Yield(); }).Join();
        EXPECT_LE(CpuMicroseconds([] { SleepFor(absl::FromChrono(kIdle)); }), kFew);
      },
      {.workers = 8});
}

TEST(IdleCpuTest, ManyParkedFibers) {
  csp::Run(
      [] {
        Event gate;
        std::vector<Task<void>> tasks;
        for (int i = 0; i < 1000; ++i) tasks.push_back(Go([&] { gate.Wait(); }));
        SleepFor(absl::Milliseconds(50));
        EXPECT_LE(CpuMicroseconds([] { SleepFor(absl::FromChrono(kIdle)); }), kFew);
        gate.Set();
        for (Task<void>& task : tasks) task.Join();
      },
      {.workers = 8});
}

// Everything waits for a plain thread that sleeps.
TEST(IdleCpuTest, WaitingForTheWorld) {
  csp::Run(
      [] {
        EXPECT_LE(CpuMicroseconds([] { Blocking([] { std::this_thread::sleep_for(kIdle); }); }),
                  kFew);
      },
      {.workers = 8});
}

// One worker sits in a system call: the watcher looks after it, but not at its cost.
TEST(IdleCpuTest, AWorkerThatSleepsInTheKernel) {
  csp::Run([] { EXPECT_LE(CpuMicroseconds([] { std::this_thread::sleep_for(kIdle); }), kFew); },
           {.workers = 8});
}

}  // namespace
}  // namespace csp
