// O3: a walk up a fiber's stack ends at its entry.
#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>
#include <unwind.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using BacktraceTest = RuntimeTest;
CSP_INSTANTIATE(BacktraceTest);

struct Walk {
  int frames = 0;
  std::uintptr_t last_cfa = 0;
};

_Unwind_Reason_Code OnFrame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  walk->last_cfa = _Unwind_GetCFA(context);
  return ++walk->frames < 1000 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

[[gnu::noinline]] int Depth(int more) {
  if (more > 0) {
    const int depth = Depth(more - 1);
    asm volatile("" ::: "memory");  // no tail call
    return depth;
  }
  void* frames[500];
  const int count = backtrace(frames, 500);
  Walk walk;
  _Unwind_Backtrace(&OnFrame, &walk);
  EXPECT_LT(walk.frames, 500);
  EXPECT_GE(walk.frames, 1);
  // The walk has not left the fiber's stack.
  const auto here = reinterpret_cast<std::uintptr_t>(&walk);
  EXPECT_GE(walk.last_cfa, here);
  EXPECT_LT(walk.last_cfa - here, std::uintptr_t{16} << 20);
  return count;
}

TEST_P(BacktraceTest, EndsAtTheEntry) {
  Here([] {
    (void)Depth(0);  // loads what backtrace loads at its first use
    Go([] {
      const int shallow = Depth(0);
      EXPECT_LT(shallow, 100);
      EXPECT_EQ(Depth(20), shallow + 20);
      Yield();
      SleepFor(absl::Microseconds(10));
      EXPECT_EQ(Depth(0), shallow);
    }).Join();
  });
}

// A profiler's signal may come at any moment, also in the middle of a switch.
std::atomic<int> samples{0};
void OnProfile(int) {
  void* frames[200];
  if (backtrace(frames, 200) < 200) ++samples;
}

TEST(ProfilerTest, MayWalkAtAnyMoment) {
  if (kTsan || kAsan) GTEST_SKIP() << "they delay signals, or forbid the walk in them";
  void* frames[4];
  backtrace(frames, 4);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &OnProfile;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(SIGPROF, &action, &before);
  itimerval timer{{0, 500}, {0, 500}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  csp::Run(
      [] {
        const auto until = [] { return samples >= 200; };
        Task<void> other = Go([&] {
          while (!until()) Yield();
        });
        while (!until()) Go([] { Yield(); }).Join();
        other.Join();
      },
      {.workers = 2});
  timer = {};
  setitimer(ITIMER_PROF, &timer, nullptr);
  sigaction(SIGPROF, &before, nullptr);
}

[[gnu::noinline]] void Throw() { throw std::runtime_error("nobody catches this"); }

void ThrowThroughNoexcept() {
  csp::Run([] { Go([]() noexcept { Throw(); }).Join(); });
}

TEST(TerminateTest, AnUncaughtThrowEndsTheProcessOrderly) {
  EXPECT_CHILD(ThrowThroughNoexcept(), testing::KilledBySignal(SIGABRT), "nobody catches this");
}

}  // namespace
}  // namespace csp
