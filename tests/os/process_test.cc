#include "csp/os/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "csp/net/internal/system.h"
#include "csp/net/io_status.h"
#include "tests/net/net_test.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using os::ExitStatus;
using os::Process;
using os::ProcessOptions;
using os::Stdio;

class ProcessTest : public NetTest {
 protected:
  ~ProcessTest() override {
    siginfo_t info;
    EXPECT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1) << "a child is left";
  }
};
CSP_INSTANTIATE(ProcessTest);

std::vector<std::string> Shell(const std::string& script) { return {"sh", "-c", script}; }

// All that it writes, and its end.
std::string OutputOf(const std::vector<std::string>& command, ProcessOptions options = {}) {
  options.out = Stdio::kPipe;
  auto process = Process::Spawn(command, options);
  if (!process.ok()) return "!" + std::string(process.status().message());
  std::string output;
  for (std::string more; !(more = ReadSome(process->out())).empty();) output += more;
  EXPECT_TRUE(process->Wait()->ok());
  return output;
}

TEST_P(ProcessTest, ItsEndIsKnown) {
  Here([] {
    EXPECT_TRUE(Process::Spawn({"true"})->Wait()->ok());
    Process seven = *Process::Spawn(Shell("exit 7"));
    const ExitStatus status = *seven.Wait();
    EXPECT_EQ(status.code, 7);
    EXPECT_EQ(status.signal, 0);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.ToString(), "exit code 7");
    EXPECT_EQ(seven.Wait()->code, 7);
    EXPECT_EQ(net::ErrnoOf(seven.Kill()), ESRCH);
    EXPECT_EQ(Process::Spawn(Shell("kill -USR1 $$"))->Wait()->signal, SIGUSR1);
  });
}

TEST_P(ProcessTest, ArgumentsEnvironmentAndDirectoryArrive) {
  Here([] {
    EXPECT_EQ(OutputOf({"sh", "-c", "printf '%s|' \"$@\"", "sh", "a b", "", "*"}), "a b||*|");
    setenv("CSP_PROCESS_TEST", "ours", 1);
    EXPECT_EQ(OutputOf(Shell("printf %s $CSP_PROCESS_TEST")), "ours");
    EXPECT_EQ(OutputOf({"env"}, {.environment = std::vector<std::string>{"A=1", "B="}}),
              "A=1\nB=\n");
    EXPECT_EQ(OutputOf({"env"}, {.environment = std::vector<std::string>{}}), "");
    EXPECT_EQ(OutputOf({"pwd"}, {.directory = "/usr"}), "/usr\n");
  });
}

TEST_P(ProcessTest, ItsStreamsAreOurDescriptors) {
  Here([] {
    Process process =
        *Process::Spawn(Shell("read line; echo out $line; echo err $line >&2"),
                        {.in = Stdio::kPipe, .out = Stdio::kPipe, .err = Stdio::kPipe});
    Task<std::string> err = Go([&] { return ReadSome(process.err()); });
    EXPECT_TRUE(process.in().WriteAll("x\n").ok());
    EXPECT_EQ(ReadSome(process.out()), "out x\n");
    EXPECT_EQ(err.Join(), "err x\n");
    EXPECT_TRUE(process.Wait()->ok());
    EXPECT_EQ(net::ErrnoOf(process.in().WriteAll("nobody reads")), EPIPE);
    Process silent = *Process::Spawn(Shell("read line && exit 1; echo x"),
                                     {.in = Stdio::kNull, .out = Stdio::kNull});
    EXPECT_TRUE(silent.Wait()->ok());
    EXPECT_FALSE(silent.out().is_open());
  });
}

TEST_P(ProcessTest, ALotGoesThroughIt) {
  Here([] {
    Process cat = *Process::Spawn({"cat"}, {.in = Stdio::kPipe, .out = Stdio::kPipe});
    const std::string sent(Rounds(8) << 20, 'x');
    Task<void> writer = Go([&] {
      EXPECT_TRUE(cat.in().WriteAll(sent).ok());
      cat.in().Close();
    });
    std::string got(sent.size(), '\0');
    EXPECT_TRUE(cat.out().ReadFull(got).ok());
    EXPECT_EQ(got, sent);
    EXPECT_EQ(ReadSome(cat.out()), "");
    writer.Join();
    EXPECT_TRUE(cat.Wait()->ok());
  });
}

// A pipe's end that a second child held would keep the first from seeing the end.
TEST_P(ProcessTest, AChildHasNoDescriptorOfAnother) {
  Here([] {
    Process first = *Process::Spawn({"cat"}, {.in = Stdio::kPipe, .out = Stdio::kPipe});
    Process second = *Process::Spawn({"cat"}, {.in = Stdio::kPipe, .out = Stdio::kPipe});
    first.in().Close();
    EXPECT_EQ(ReadSome(first.out()), "");
    EXPECT_TRUE(first.Wait()->ok());
    Pipe pipe;
    EXPECT_EQ(OutputOf(Shell("for fd in " + std::to_string(pipe.in.native_handle()) + " " +
                             std::to_string(second.out().native_handle()) +
                             "; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; true")),
              "");
  });
}

TEST_P(ProcessTest, WhatCannotBeStartedIsSaidBySpawn) {
  Here([] {
    const auto error = [](const std::vector<std::string>& command,
                          const ProcessOptions& options = {}) {
      return Process::Spawn(command, options).status();
    };
    EXPECT_EQ(error({"no-such-program"}).message(),
              "Process::Spawn: no-such-program: No such file or directory");
    EXPECT_EQ(net::ErrnoOf(error({"/no/such/program"})), ENOENT);
    EXPECT_EQ(net::ErrnoOf(error({"/"})), EACCES);
    EXPECT_EQ(error({"true"}, {.directory = "/no/such"}).message(),
              "Process::Spawn: /no/such: No such file or directory");
    EXPECT_EQ(net::ErrnoOf(error({"true", std::string(8 << 20, 'x')})), E2BIG);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{}, {""}, {"true", std::string("a\0b", 3)}}) {
      EXPECT_EQ(error(command).code(), absl::StatusCode::kInvalidArgument);
    }
    EXPECT_EQ(error({"true"}, {.environment = std::vector<std::string>{"A"}}).message(),
              "Process::Spawn: the variable \"A\" is not \"NAME=value\"");
    // Nor does a failure leave pipes.
    EXPECT_FALSE(
        Process::Spawn({"no-such-program"}, {.in = Stdio::kPipe, .out = Stdio::kPipe}).ok());
  });
}

TEST_P(ProcessTest, ItsEndCanBeSelected) {
  Here([] {
    Process cat = *Process::Spawn({"cat"}, {.in = Stdio::kPipe});
    EXPECT_TRUE(Select(
        cat.OnExit() >> [](absl::StatusOr<ExitStatus>) { return false; },
        Default >> [] { return true; }));
    Select(
        OnTimeout(absl::Milliseconds(1)) >> [&] { cat.in().Close(); },
        cat.OnExit() >> [](absl::StatusOr<ExitStatus>) { FAIL(); });
    EXPECT_TRUE(
        Select(cat.OnExit() >> [](absl::StatusOr<ExitStatus> status) { return status->ok(); }));
    EXPECT_TRUE(
        Select(cat.OnExit() >> [](absl::StatusOr<ExitStatus> status) { return status->ok(); }));
  });
}

TEST_P(ProcessTest, AllWhoWaitHearOfIt) {
  Here([] {
    for (int i = 0; i < Rounds(24); ++i) {
      Process cat = *Process::Spawn({"cat"}, {.in = Stdio::kPipe});
      std::vector<Task<int>> waiters;
      for (int j = 0; j < 4; ++j) {
        waiters.push_back(Go([&, j] {
          return j % 2 == 0 ? cat.Wait()->signal
                            : Select(cat.OnExit() >> [](absl::StatusOr<ExitStatus> status) {
                                return status->signal;
                              });
        }));
      }
      Task<void> cancelled = Go([&] { (void)cat.Wait(); });
      if (i % 2 == 0) AwaitWaiters(5);
      cancelled.Cancel();
      EXPECT_THROW(cancelled.Join(), TaskCancelled);
      EXPECT_TRUE(cat.Kill(SIGTERM).ok());
      for (Task<int>& waiter : waiters) EXPECT_EQ(waiter.Join(), SIGTERM);
    }
  });
}

TEST_P(ProcessTest, WhoLosesItsObjectIsKilled) {
  Here([] {
    pid_t pid;
    {
      Process process = *Process::Spawn({"cat"}, {.in = Stdio::kPipe});
      pid = process.pid();
      EXPECT_EQ(kill(pid, 0), 0);
      EXPECT_EQ(net::ErrnoOf(process.Kill(1000)), EINVAL);
      Process other = std::move(process);
      EXPECT_EQ(other.pid(), pid);
      EXPECT_THROW((void)process.Wait(), InvalidArgument);
      process = *Process::Spawn({"cat"}, {.in = Stdio::kPipe});
      other = std::move(process);
      EXPECT_EQ(kill(pid, 0), -1);
    }
    EXPECT_EQ(errno, ESRCH);
  });
}

TEST_P(ProcessTest, ManyAtOnce) {
  Here([] {
    WithScope([](Scope& s) {
      for (int i = 0; i < Rounds(64); ++i) {
        s.Go([i] { EXPECT_EQ(OutputOf({"echo", std::to_string(i)}), std::to_string(i) + "\n"); });
      }
    });
  });
}

// A system that lacks one thing at one call.
class Lacking final : public internal::System {
 public:
  explicit Lacking(int which) : which_(which) {}

  int Pipe(int (&fds)[2]) override { return Lacks() ? -EMFILE : System::Pipe(fds); }
  int PidfdOpen(pid_t pid) override { return Lacks() ? -EMFILE : System::PidfdOpen(pid); }
  int SetFlags(int fd, int flags) override {
    return Lacks() ? -ENOMEM : System::SetFlags(fd, flags);
  }

 private:
  bool Lacks() { return which_-- == 0; }

  int which_;
};

TEST_P(ProcessTest, AFailureHalfwayLeavesNothing) {
  Here([] {
    int failures = 0;
    for (int which = 0;; ++which) {
      Lacking system(which);
      const internal::ScopedSystem use(&system);
      const auto process =
          Process::Spawn({"cat"}, {.in = Stdio::kPipe, .out = Stdio::kPipe, .err = Stdio::kPipe});
      if (process.ok()) break;
      ++failures;
    }
    EXPECT_EQ(failures, 7);
  });
}

TEST_P(ProcessTest, ACancelledFiberStartsNothing) {
  Here([] {
    Task<void> task = Go([] {
      while (true) EXPECT_TRUE(Process::Spawn({"true"})->Wait()->ok());
    });
    task.Cancel();
    EXPECT_THROW(task.Join(), TaskCancelled);
    EXPECT_THROW((void)Process().Wait(), InvalidArgument);
  });
}

}  // namespace
}  // namespace csp
