// The end of the process, with and without a forked child in between. Each body is a child of its
// own: main returns or exit is called while fibers live on the default runtime.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/sched/dump.h"
#include "csp/select/event.h"
#include "csp/task/after_func.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using testing::ExitedWithCode;

// LeakSanitizer looks at exit, while the frozen workers' fibers hold what they hold.
void StartFibersOfEveryKind() {
  const Chan<int> ch = MakeChan<int>();
  for (int i = 0; i < 20; ++i) {
    Go([] {
      for (;;) Yield();
    });
    Go([ch] { ch.Recv(); });
    Go([] { SleepFor(absl::Hours(1)); });
    Go([] {
      for (;;) SleepFor(absl::Microseconds(20));
    });
  }
  Go([] {
    for (;;) Blocking([] {});
  });
}

TEST(ExitTest, WithLiveFibers) {
  for (int i = 0; i < (kTsan || kAsan ? 3 : 20); ++i) {
    EXPECT_CHILD(
        {
          StartFibersOfEveryKind();
          std::this_thread::sleep_for(std::chrono::microseconds(i * 100));
          std::exit(3);
        },
        ExitedWithCode(3), "");
  }
}

TEST(ExitTest, CalledByAFiber) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_CHILD(
        {
          StartFibersOfEveryKind();
          Go([] { std::exit(4); }).Join();
        },
        ExitedWithCode(4), "");
  }
}

void AwaitInDump(const std::string& text) {
  while (DumpFibers().find(text) == std::string::npos) std::this_thread::yield();
}

TEST(ExitTest, WhileAPlainThreadWaits) {
  EXPECT_CHILD(
      {
        std::thread([] { MakeChan<int>().Recv(); }).detach();
        std::thread([] { Go([] { Event().Wait(); }).Join(); }).detach();
        AwaitInDump("parked in chan Recv");
        AwaitInDump("parked in task Join");
        std::exit(5);
      },
      ExitedWithCode(5), "");
}

TEST(ExitTest, AfterAShutdown) {
  EXPECT_CHILD(
      {
        StartFibersOfEveryKind();
        if (!Shutdown(absl::Seconds(20))) std::_Exit(1);
        std::exit(6);
      },
      ExitedWithCode(6), "");
}

TEST(ExitTest, InTheMiddleOfARun) {
  EXPECT_CHILD(csp::Run([] {
                 StartFibersOfEveryKind();
                 std::exit(7);
               }),
               ExitedWithCode(7), "");
}

// --- L3: objects whose destructors run at exit.

struct AtExit {
  explicit AtExit(std::function<void()> f) : f(std::move(f)) {}
  ~AtExit() { f(); }
  std::function<void()> f;
};

void StartTheDefaultRuntime() {
  Go([] {}).Join();
}

// Its destructor says whether fibers stop once it has begun: none may switch during a whole pause.
struct OldObject {
  ~OldObject() {
    for (int i = 0; i < 100; ++i) {
      const long before = switches;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (switches == before) std::_Exit(8);
    }
    std::_Exit(9);
  }
  static std::atomic<long> switches;
};
std::atomic<long> OldObject::switches{0};

void SwitchForEver() {
  for (int i = 0; i < 4; ++i) {
    Go([] {
      for (;;) {
        Yield();
        ++OldObject::switches;
      }
    });
  }
}

void ExitInARun() {
  static OldObject old;
  csp::Run(
      [] {
        SwitchForEver();
        std::exit(0);
      },
      {.workers = 3});
}

TEST(ExitTest, TheFibersOfARunFreezeToo) { EXPECT_CHILD(ExitInARun(), ExitedWithCode(8), ""); }

void ExitAfterARunThatLeftSomebodyBehind() {
  static OldObject old;
  csp::Run(
      [] {
        Go([] {
          for (;;) {
            try {
              Yield();
              SleepFor(absl::Microseconds(1));
            } catch (const Cancelled&) {
            }
            ++OldObject::switches;
          }
        });
        Yield();
      },
      {.workers = 2, .grace = absl::Milliseconds(20)});
  std::exit(0);
}

TEST(ExitTest, AlsoThoseThatWereLeftBehind) {
  EXPECT_CHILD(ExitAfterARunThatLeftSomebodyBehind(), ExitedWithCode(8), "");
}

void SendAndClose() {
  static const Chan<int> full = MakeChan<int>(1);
  static const Chan<int> heard = MakeChan<int>();
  static std::atomic<bool> waits{false};
  static const AtExit before([] {
    (void)full.TrySend(1);
    heard.Close();
    std::fputs("older object\n", stderr);
  });
  Go([] {
    waits = true;
    heard.Recv();
  });
  while (!waits) std::this_thread::yield();
  static const AtExit after([] {
    (void)full.TrySend(1);
    std::fputs("younger object\n", stderr);
  });
}

TEST(ExitTest, StaticObjectsMaySendAndClose) {
  EXPECT_CHILD(SendAndClose(), ExitedWithCode(0), "younger object\nolder object");
}

void GoAndJoinInAYoungerObject() {
  StartTheDefaultRuntime();
  static const AtExit after([] {
    if (Go([] { return 5; }).Join() == 5) std::fputs("joined\n", stderr);
  });
}

TEST(ExitTest, AYoungerStaticObjectMayGoAndJoin) {
  EXPECT_CHILD(GoAndJoinInAYoungerObject(), ExitedWithCode(0), "joined");
}

// The workers are frozen by then. A wait lets them go on until it is over.
void GoAndJoinInAnOlderObject() {
  static const AtExit before([] {
    const Chan<int> ch = MakeChan<int>();
    Go([ch] { ch.Send(1); });
    if (*ch.Recv() + Go([] { return 5; }).Join() == 6) std::fputs("joined\n", stderr);
  });
  StartTheDefaultRuntime();
  for (int i = 0; i < 8; ++i) {
    Go([] {
      for (;;) Yield();
    });
  }
}

TEST(ExitTest, AnOlderStaticObjectMayGoAndJoin) {
  EXPECT_CHILD(GoAndJoinInAnOlderObject(), ExitedWithCode(0), "joined");
}

void StartAtExit() {
  static const AtExit first([] {
    if (Go([] { return 5; }).Join() == 5) std::fputs("joined\n", stderr);
  });
}

TEST(ExitTest, ARuntimeMayStartAtExit) { EXPECT_CHILD(StartAtExit(), ExitedWithCode(0), "joined"); }

void OutlivingHandles() {
  static Task<void> task = Go([] { Event().Wait(); });
  static Chan<int> ch = MakeChan<int>(3);
  ch.Send(1);
  thread_local AtExit local([] { (void)ch.TrySend(1); });
  static_cast<void>(local.f);
}

TEST(ExitTest, HandlesMayOutliveMain) { EXPECT_CHILD(OutlivingHandles(), ExitedWithCode(0), ""); }

// --- L6: fork.

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(ForkTest, AChildMayExecOrExit) {
  csp::Run(
      [] {
        std::atomic<bool> over{false};
        std::vector<Task<void>> busy;
        for (int i = 0; i < 8; ++i) {
          busy.push_back(Go([&] {
            while (!over) Yield();
          }));
        }
        for (int i = 0; i < (kTsan || kAsan ? 4 : 50); ++i) {
          const pid_t child = fork();
          if (child == 0) {
            if (i % 2 == 0) _exit(21);
            execl("/bin/sh", "sh", "-c", "exit 21", nullptr);
            _exit(1);
          }
          EXPECT_EQ(WaitFor(child), 21);
          Yield();
        }
        over = true;
        for (Task<void>& task : busy) task.Join();
      },
      {.workers = 4});
}

TEST(ForkTest, DescriptorsAreClosedOnExec) {
  csp::Run([] {
    Go([] { SleepFor(absl::Microseconds(1)); }).Join();
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c",
            "for fd in /proc/self/fd/*; do case ${fd##*/} in [0-2]) ;; *) readlink $fd;; esac; done"
            " | grep -c 'anon_inode'; exit 0",
            nullptr);
      _exit(1);
    }
    EXPECT_EQ(WaitFor(child), 0);
  });
}

// Every call that would need the others says so instead of hanging.
int CallsInTheChild(const std::function<void()>& call) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    try {
      call();
    } catch (const RuntimeError& e) {
      _exit(std::string(e.what()).find("forked child") != std::string::npos ? 30 : 31);
    } catch (...) {
      _exit(32);
    }
    _exit(33);
  }
  return WaitFor(child);
}

void EveryCallThrowsInTheChild() {
  Event never;
  const Chan<int> ch = MakeChan<int>();
  EXPECT_EQ(CallsInTheChild([] { Go([] {}); }), 30);
  EXPECT_EQ(CallsInTheChild([&] { never.Wait(); }), 30);
  EXPECT_EQ(CallsInTheChild([&] { ch.Recv(); }), 30);
  EXPECT_EQ(CallsInTheChild([&] { ch.Send(1); }), 30);
  EXPECT_EQ(CallsInTheChild([] { SleepFor(absl::Hours(1)); }), 30);
  EXPECT_EQ(CallsInTheChild([] { Yield(); }), 30);
  EXPECT_EQ(CallsInTheChild([] { Blocking([] {}); }), 30);
  EXPECT_EQ(CallsInTheChild([] { csp::Run([] {}); }), 30);
  EXPECT_EQ(CallsInTheChild([] { BlockingDetached([] {}); }), 30);
  EXPECT_EQ(CallsInTheChild([] { Shutdown(absl::InfiniteDuration()); }), 30);
  EXPECT_EQ(CallsInTheChild([] { (void)AfterFunc(absl::Hours(1), [] {}); }), 30);
  AfterFuncTimer timer = AfterFunc(absl::Hours(1), [] {});
  EXPECT_EQ(CallsInTheChild([&] { timer.Reset(absl::Hours(1)); }), 30);
  EXPECT_EQ(CallsInTheChild([&] { timer.Stop(); }), 30);
  timer.Stop();
}

TEST(ForkTest, CallsInTheChildThrow) {
  if (kTsan) GTEST_SKIP() << "it allows no threads after a fork";
  StartTheDefaultRuntime();
  EveryCallThrowsInTheChild();                    // from a plain thread
  csp::Run([] { EveryCallThrowsInTheChild(); });  // from a fiber
}

}  // namespace
}  // namespace csp
