// A8: a mutex of threads, held across a wait. docs/caveats.md says not to, and what to do instead.
//
// csp does not know of such mutexes and takes no notice. What is left is the dump, which a debugger
// or another thread can still ask for.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/sched/dump.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

// Whether a thread of this process sleeps in the kernel.
bool Sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.find(") S ") != std::string::npos;
}

void HoldAMutexAcrossAWait() {
  std::mutex mu;
  std::atomic<pid_t> blocked{0};
  std::thread debugger([&] {
    while (blocked == 0 || !Sleeps(blocked)) std::this_thread::yield();
    PrintFibers();
    std::_Exit(5);
  });
  csp::Run(
      [&] {
        Task<void> owner = Go({.name = "owner"}, [&] {
          const std::lock_guard lock(mu);
          while (blocked == 0) Yield();
          std::fputs("the owner went on\n", stderr);
        });
        Yield();
        Task<void> other = Go({.name = "other"}, [&] {
          blocked = gettid();
          const std::lock_guard lock(mu);  // blocks the only worker, and with it the owner
        });
        owner.Join();
        other.Join();
      },
      {.workers = 1});
  debugger.join();
}

TEST(OsMutexTest, HeldAcrossAWaitItBlocksTheWorkerAndTheDumpNamesThoseInvolved) {
  EXPECT_CHILD(HoldAMutexAcrossAWait(), testing::ExitedWithCode(5),
               "^[^\n]*fiber(.|\n)*\"(owner|other)\" running or ready"
               "(.|\n)*\"(owner|other)\" running or ready");
}

using GuardTest = RuntimeTest;
CSP_INSTANTIATE(GuardTest);

// What the page recommends in its place.
TEST_P(GuardTest, AChannelOfCapacityOneMayBeHeldAcrossWaits) {
  Here([] {
    const Chan<Unit> mutex = MakeChan<Unit>(1);
    int inside = 0;
    int entered = 0;
    std::vector<Task<void>> tasks;
    for (int k = 0; k < 4; ++k) {
      tasks.push_back(Go([&] {
        for (int i = 0; i < Rounds(200); ++i) {
          mutex.Send({});
          ASSERT_EQ(++inside, 1);
          ++entered;
          i % 4 == 0 ? SleepFor(absl::Microseconds(1)) : Yield();
          --inside;
          mutex.Recv();
        }
      }));
    }
    for (Task<void>& task : tasks) task.Join();
    EXPECT_EQ(entered, 4 * Rounds(200));
  });
}

}  // namespace
}  // namespace csp
