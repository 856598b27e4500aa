#include "csp/sched/internal/overflow_report.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"

namespace csp {
namespace {

// ASan's own handler comes next, and ends the process by its report.
const auto kDied = [](int status) {
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status) != 0;
};

[[gnu::noinline]] int Recurse(int depth) {
  volatile char frame[512];
  frame[depth % 512] = static_cast<char>(depth);
  return depth == 0 ? 0 : Recurse(depth - 1) + frame[depth % 512];
}

void Overflow(int workers) {
  csp::Run(
      [] { Go({.name = "too deep", .stack_size = 32 << 10}, [] { Recurse(1'000'000); }).Join(); },
      {.workers = workers});
}

TEST(OverflowReportTest, NamesTheFiberItsSizeAndItsSpawnSite) {
  for (const int workers : {1, 4}) {
    EXPECT_CHILD(Overflow(workers), kDied,
                 "csp: stack overflow in fiber [0-9]+ \"too deep\", stack of 32 KiB, spawned at "
                 "overflow_report_test\\+0x[0-9a-f]+; ");
  }
}

void OverflowMain() {
  csp::Run([] { Recurse(1'000'000); }, {.main_stack_size = 64 << 10});
}

TEST(OverflowReportTest, AlsoOfTheMainFiber) {
  EXPECT_CHILD(OverflowMain(), kDied,
               "stack overflow in fiber [0-9]+ \"main\", stack of 64 KiB; give");
}

// I3: compiled with -fstack-clash-protection a frame larger than the guard touches it on its way.
[[gnu::noinline]] char BigFrame(std::size_t at) {
  volatile char frame[256 << 10];
  frame[at] = 1;
  return frame[at];
}

TEST(OverflowReportTest, AFrameLargerThanTheGuard) {
  EXPECT_CHILD(csp::Run([] { Go({.stack_size = 64 << 10}, [] { BigFrame(0); }).Join(); }), kDied,
               "csp: stack overflow in fiber");
}

void WriteToNull() {
  csp::Run([] { *static_cast<volatile int*>(nullptr) = 1; });
}

TEST(OverflowReportTest, SilentAboutOtherFaults) {
  EXPECT_CHILD(WriteToNull(), kDied, testing::Not(testing::ContainsRegex("csp: stack overflow")));
}

void SendTheSignal(int code) {
  csp::Run([code] {
    if (code == SI_TKILL) raise(SIGSEGV);
    if (code == SI_USER) kill(getpid(), SIGSEGV);
    pause();
  });
}

TEST(OverflowReportTest, ASignalThatWasSentKills) {
  for (const int code : {SI_TKILL, SI_USER}) {
    EXPECT_CHILD(SendTheSignal(code), kDied,
                 testing::Not(testing::ContainsRegex("csp: stack overflow")));
  }
}

void SendAnIgnoredSignal() {
  signal(SIGSEGV, SIG_IGN);
  csp::Run([] { raise(SIGSEGV); });
}

TEST(OverflowReportTest, UnlessItIsIgnored) {
  EXPECT_CHILD(SendAnIgnoredSignal(), testing::ExitedWithCode(0), "");
}

void OnSegv(int) {
  static const char text[] = "the user's handler\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(9);
}

void OverflowWithAHandlerFromBefore() {
  struct sigaction action {};
  action.sa_handler = &OnSegv;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  Overflow(1);
}

TEST(OverflowReportTest, TheUsersHandlerStillRuns) {
  EXPECT_CHILD(OverflowWithAHandlerFromBefore(), testing::ExitedWithCode(9),
               "csp: stack overflow in fiber(.|\n)*the user's handler");
}

void OverflowWithAHandlerFromAfter() {
  csp::Run([] {
    struct sigaction action {};
    action.sa_handler = &OnSegv;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    Go([] { Recurse(1'000'000); }).Join();
  });
}

TEST(OverflowReportTest, AndOneThatReplacesOurs) {
  EXPECT_CHILD(OverflowWithAHandlerFromAfter(), testing::ExitedWithCode(9), "the user's handler");
}

}  // namespace
}  // namespace csp
