#include "csp/os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/open_file.h"
#include "csp/net/internal/system.h"
#include "csp/os/internal/spawn.h"
#include "csp/task/blocking_call.h"

namespace csp::os {
namespace {

using internal::Direction;
using internal::IoError;
using internal::OpenFile;
using internal::Ref;
using internal::TheSystem;

constexpr char kType[] = "Process";
constexpr ParkReason kWait{"Wait", "os"};

// A descriptor that is closed unless it is taken.
class OwnedFd {
 public:
  OwnedFd() = default;
  ~OwnedFd() { Reset(-1); }
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;

  int get() const { return fd_; }
  int Take() { return std::exchange(fd_, -1); }
  void Reset(int fd) {
    if (fd_ >= 0) TheSystem().Close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// One of the child's streams: its own end, and this process's.
struct Stream {
  OwnedFd theirs;
  OwnedFd ours;
};

// The child's end gets a number that is none of a standard stream's: or, in a process without these,
// one stream's would be overwritten by another's.
int OpenPipe(bool child_reads, Stream& stream) {
  int fds[2];
  const int result = TheSystem().Pipe(fds);
  if (result < 0) return result;
  stream.theirs.Reset(fds[child_reads ? 0 : 1]);
  stream.ours.Reset(fds[child_reads ? 1 : 0]);
  if (stream.theirs.get() > STDERR_FILENO) return 0;
  const int moved = TheSystem().Duplicate(stream.theirs.get(), STDERR_FILENO + 1);
  if (moved < 0) return moved;
  stream.theirs.Reset(moved);
  return 0;
}

absl::Status CheckNoZero(const std::vector<std::string>& strings, const char* what) {
  for (const std::string& string : strings) {
    if (string.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("Process::Spawn: ", what, " \"", string, "\" has a zero byte in it"));
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const std::vector<std::string>& command, const ProcessOptions& options) {
  if (command.empty() || command[0].empty()) {
    return absl::InvalidArgumentError(
        "Process::Spawn: no program; the command's first is its name");
  }
  absl::Status status = CheckNoZero(command, "the argument");
  status.Update(CheckNoZero({options.directory}, "the directory"));
  if (!options.environment) return status;
  status.Update(CheckNoZero(*options.environment, "the variable"));
  for (const std::string& variable : *options.environment) {
    if (variable.find('=') != std::string::npos) continue;
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("Process::Spawn: the variable \"", variable, "\" is not \"NAME=value\"")));
  }
  return status;
}

// What could not be started, for the message: the system says only that something is missing.
std::string Blamed(const std::vector<std::string>& command, const ProcessOptions& options) {
  struct stat info;
  const bool bad_directory =
      !options.directory.empty() &&
      (stat(options.directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
       access(options.directory.c_str(), X_OK) != 0);
  return bad_directory ? options.directory : command[0];
}

ExitStatus StatusOf(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? ExitStatus{info.si_status, 0} : ExitStatus{0, info.si_status};
}

}  // namespace

std::string ExitStatus::ToString() const {
  return signal != 0 ? absl::StrCat("signal ", signal) : absl::StrCat("exit code ", code);
}

// --- Whether it has ended.

class Process::State {
 public:
  State(pid_t pid, int pidfd) : pid(pid), file(new OpenFile(pidfd, OpenFile::Kind::kFile, kType)) {}

  ~State() {
    if (Reap(WNOHANG) == -EAGAIN) {
      TheSystem().PidfdSignal(file->fd(), SIGKILL);
      internal::Uninterrupted([&] { return Reap(0); });
    }
    file->Close();
  }

  // 0: it has ended; -EAGAIN: not yet. Under a lock, for only one of those who wait gets it from the
  // system.
  ssize_t Reap(int flags) {
    const std::lock_guard lock(mu_);
    if (ended_) return 0;
    siginfo_t info{};
    const int result = TheSystem().WaitForExit(file->fd(), &info, flags);
    if (result < 0) return result;
    if (info.si_pid == 0) return -EAGAIN;
    ended_ = StatusOf(info);
    return 0;
  }

  absl::StatusOr<ExitStatus> Ended(const char* verb, ssize_t result) {
    if (result < 0) return IoError(kType, verb, result);
    const std::lock_guard lock(mu_);
    return *ended_;
  }

  const pid_t pid;
  const Ref<OpenFile> file;
  net::Descriptor streams[3];

 private:
  std::mutex mu_;
  std::optional<ExitStatus> ended_;
};

Process::Process(std::unique_ptr<State> state) : state_(std::move(state)) {}
Process::Process() = default;
Process::Process(Process&&) noexcept = default;
Process& Process::operator=(Process&&) noexcept = default;
Process::~Process() = default;

Process::State& Process::state(const char* verb) const {
  if (!state_) internal::ThrowEmpty(kType, verb);
  return *state_;
}

pid_t Process::pid() const { return state("pid").pid; }

net::Descriptor& Process::in() { return state("in").streams[0]; }
net::Descriptor& Process::out() { return state("out").streams[1]; }
net::Descriptor& Process::err() { return state("err").streams[2]; }

absl::StatusOr<ExitStatus> Process::Wait() {
  State& s = state("Wait");
  return s.Ended("Wait", internal::Perform(*s.file, Direction::kRead, kWait,
                                           [&](int) { return s.Reap(WNOHANG); }));
}

absl::Status Process::Kill(int signal) {
  return internal::OkOrError(kType, "Kill", internal::AtOnce(*state("Kill").file, [&](int pidfd) {
                               return TheSystem().PidfdSignal(pidfd, signal);
                             }));
}

ExitEvent Process::OnExit() { return ExitEvent(state("OnExit")); }

ExitEvent::ExitEvent(Process::State& state)
    : IoCase(*state.file, Direction::kRead, kWait, /*hopeless_first=*/false), state_(state) {}

ssize_t ExitEvent::Try(int) { return state_.Reap(WNOHANG); }

ExitEvent::Result ExitEvent::Take() { return state_.Ended("OnExit", result()); }

// --- Starting it.

absl::StatusOr<Process> Process::Spawn(const std::vector<std::string>& command,
                                       const ProcessOptions& options) {
  absl::Status bad = Check(command, options);
  if (!bad.ok()) return bad;

  const Stdio kinds[3] = {options.in, options.out, options.err};
  Stream streams[3];
  internal::SpawnRequest request{
      &command, options.environment ? &*options.environment : nullptr, &options.directory, {}};
  for (int i = 0; i < 3; ++i) {
    request.streams[i] =
        kinds[i] == Stdio::kNull ? internal::kNullStream : internal::kInheritStream;
    if (kinds[i] != Stdio::kPipe) continue;
    const int result = OpenPipe(/*child_reads=*/i == 0, streams[i]);
    if (result < 0) return IoError(kType, "Spawn", result);
    request.streams[i] = streams[i].theirs.get();
  }

  pid_t pid = 0;
  const int error = csp::Blocking([&] { return internal::SpawnChild(request, pid); });
  if (error != 0) {
    return IoError(kType, absl::StrCat("Spawn: ", Blamed(command, options)).c_str(), -error);
  }
  const int pidfd = TheSystem().PidfdOpen(pid);
  if (pidfd < 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return IoError(kType, "Spawn", pidfd);
  }
  auto state = std::make_unique<State>(pid, pidfd);
  for (int i = 0; i < 3; ++i) {
    if (kinds[i] != Stdio::kPipe) continue;
    absl::StatusOr<net::Descriptor> adopted = net::Descriptor::Adopt(streams[i].ours.get());
    if (!adopted.ok()) return adopted.status();
    streams[i].ours.Take();
    state->streams[i] = *std::move(adopted);
  }
  return Process(std::move(state));
}

}  // namespace csp::os
