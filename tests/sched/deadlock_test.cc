#include "csp/sched/internal/deadlock.h"

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"

namespace csp {
namespace {

// The sanitizers' own threads are no part of a child's count in every version.
class DeadlockTest : public testing::TestWithParam<int> {
 protected:
  RunOptions Options() const { return {.workers = GetParam(), .on_deadlock = &OnDeadlock}; }

  static void OnDeadlock(const std::string& report) {
    std::fprintf(stderr, "reported\n%s", report.c_str());
    std::_Exit(42);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, DeadlockTest, testing::Values(1, 2, 4, 8));

const auto kReported = testing::ExitedWithCode(42);
const auto kSilent = testing::ExitedWithCode(0);

// Long enough for a report to come, if one were to come.
constexpr auto kLong = std::chrono::milliseconds(400);

void WaitForNothing() { MakeChan<int>().Recv(); }

TEST(DeadlockTest, AbortsByDefaultAndSaysWhoWaitsForWhat) {
  EXPECT_CHILD(csp::Run(
                   [] {
                     Go({.name = "receiver"}, [] { WaitForNothing(); });
                     Event().Wait();
                   },
                   {.workers = 2}),
               testing::KilledBySignal(SIGABRT),
               "deadlock: every fiber(.|\n)*receiver\" parked in chan Recv");
}

TEST_P(DeadlockTest, CallsTheHandler) {
  EXPECT_CHILD(csp::Run(WaitForNothing, Options()), kReported, "reported\ncsp: deadlock");
}

TEST_P(DeadlockTest, FoundAfterALongWhileOfWork) {
  EXPECT_CHILD(csp::Run(
                   [] {
                     for (int i = 0; i < 2000; ++i) Go([] { Yield(); });
                     const auto until = std::chrono::steady_clock::now() + kLong;
                     while (std::chrono::steady_clock::now() < until) {
                     }
                     WaitForNothing();
                   },
                   Options()),
               kReported, "reported");
}

TEST_P(DeadlockTest, FoundAfterSleeping) {
  EXPECT_CHILD(csp::Run(
                   [] {
                     SleepFor(absl::FromChrono(kLong));
                     WaitForNothing();
                   },
                   Options()),
               kReported, "reported");
}

TEST_P(DeadlockTest, FoundWithAPinnedFiber) {
  EXPECT_CHILD(csp::Run(
                   [] {
                     SleepFor(absl::FromChrono(kLong));
                     Go({.pinned = true}, WaitForNothing).Join();
                   },
                   Options()),
               kReported, "reported");
}

TEST(DeadlockTest, FoundWhenTheMainThreadWaitsForTheDefaultRuntime) {
  EXPECT_CHILD(
      {
        Task<void> task = Go([] { WaitForNothing(); });
        task.Join();
      },
      testing::KilledBySignal(SIGABRT), "thread [0-9]+ parked in task Join");
}

TEST_P(DeadlockTest, SilentWhileAPlainThreadCouldAct) {
  EXPECT_CHILD(
      {
        Chan<int> ch = MakeChan<int>();
        std::thread other([ch] {
          std::this_thread::sleep_for(kLong);
          ch.Send(1);
        });
        csp::Run([ch] { ch.Recv(); }, Options());
        other.join();
      },
      kSilent, "");
}

TEST_P(DeadlockTest, SilentWhileATimerIsArmed) {
  EXPECT_CHILD(csp::Run(
                   [] {
                     Chan<int> ch = MakeChan<int>();
                     Go([ch] {
                       SleepFor(absl::FromChrono(kLong));
                       ch.Send(1);
                     });
                     ch.Recv();
                   },
                   Options()),
               kSilent, "");
}

TEST_P(DeadlockTest, SilentWhileABlockingCallRuns) {
  EXPECT_CHILD(csp::Run([] { Blocking([] { std::this_thread::sleep_for(kLong); }); }, Options()),
               kSilent, "");
}

TEST_P(DeadlockTest, ReportedWhenThePoolIsIdleAgain) {
  EXPECT_CHILD(csp::Run(
                   [] {
                     Blocking([] {});
                     WaitForNothing();
                   },
                   Options()),
               kReported, "reported");
}

TEST(DeadlockTest, SilentWhileTheMainThreadIsBusy) {
  EXPECT_CHILD(
      {
        Go([] { WaitForNothing(); });
        std::this_thread::sleep_for(kLong);
      },
      kSilent, "");
}

TEST_P(DeadlockTest, SilentInAnIdleRuntimeBesideABusyOne) {
  EXPECT_CHILD(
      {
        Chan<int> ch = MakeChan<int>();
        std::thread other([&] {
          csp::Run(
              [ch] {
                const auto until = std::chrono::steady_clock::now() + kLong;
                while (std::chrono::steady_clock::now() < until) {
                }
                ch.Send(1);
              },
              Options());
        });
        csp::Run([ch] { ch.Recv(); }, Options());
        other.join();
      },
      kSilent, "");
}

// A thread that nobody knows acts, and ends, while the check is at work.
std::atomic<bool> may_act{false};
std::thread unknown;

void LetItAct() {
  may_act = true;
  unknown.join();
}

void ActDuringTheCheck(const RunOptions& options) {
  const Chan<int> ch = MakeChan<int>(1);
  internal::between_deadlock_looks = &LetItAct;
  unknown = std::thread([ch] {
    const auto until = std::chrono::steady_clock::now() + kLong;
    while (!may_act && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    (void)ch.TrySend(1);
  });
  csp::Run([ch] { ch.Recv(); }, options);
  if (unknown.joinable()) unknown.join();
}

TEST_P(DeadlockTest, SilentIfAThreadActsAndEndsDuringTheCheck) {
  EXPECT_CHILD(ActDuringTheCheck(Options()), kSilent, "");
}

// Everything waited when it was looked at; then somebody was woken.
std::atomic<int> looks{0};
const Chan<int>* woken_during_the_check = nullptr;

void WakeBetweenTheLooks(const RunOptions& options) {
  const Chan<int> ch = MakeChan<int>();
  woken_during_the_check = &ch;
  internal::between_deadlock_looks = [] {
    if (++looks == 1) (void)woken_during_the_check->TrySend(1);
  };
  csp::Run([ch] { ch.Recv(); }, options);
  std::_Exit(looks == 1 ? 0 : 1);
}

TEST_P(DeadlockTest, SilentIfSomebodyIsWokenDuringTheCheck) {
  EXPECT_CHILD(WakeBetweenTheLooks(Options()), kSilent, "");
}

// Nobody says when such a thread ends.
TEST_P(DeadlockTest, FoundAfterThePlainThreadThatCouldActHasEnded) {
  EXPECT_CHILD(
      {
        std::thread([] { std::this_thread::sleep_for(kLong); }).detach();
        csp::Run(WaitForNothing, Options());
      },
      kReported, "reported");
}

// The handler may help: it closes what everybody waits for.
TEST_P(DeadlockTest, AHandlerMayWakeSomebody) {
  EXPECT_CHILD(
      {
        Chan<int> ch = MakeChan<int>();
        RunOptions options = Options();
        options.on_deadlock = [ch](const std::string&) { ch.Close(); };
        csp::Run([ch] { ch.Recv(); }, options);
      },
      kSilent, "");
}

}  // namespace
}  // namespace csp
