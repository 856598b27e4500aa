// A child process, and the other ends of its standard streams.
//
//   auto sort = csp::os::Process::Spawn({"sort", "-n"}, {.in = csp::os::Stdio::kPipe,
//                                                       .out = csp::os::Stdio::kPipe});
//   if (!sort.ok()) …
//   csp::Go([&] { (void)sort->in().WriteAll("2\n1\n"); sort->in().Close(); });
//   char sorted[100];
//   auto count = sort->out().Read(sorted);
//   absl::StatusOr<csp::os::ExitStatus> status = sort->Wait();   // status->code == 0
//
// Thread rules: all members from any fiber or thread, at the same time, except for the destructor
// and for moving.
// What csp opens is never inherited by a child, except for its streams.
#ifndef CSP_OS_PROCESS_H_
#define CSP_OS_PROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csp/net/descriptor.h"
#include "csp/net/internal/io_case.h"
#include "csp/select/select_event.h"

namespace csp::os {

// What one of a child's standard streams is: this process's, /dev/null, or a pipe.
enum class Stdio { kInherit, kNull, kPipe };

struct ProcessOptions {
  // All of it, each "NAME=value"; nothing: this process's.
  std::optional<std::vector<std::string>> environment = {};
  // Where it begins; empty: where this process is.
  std::string directory = {};
  Stdio in = Stdio::kInherit;
  Stdio out = Stdio::kInherit;
  Stdio err = Stdio::kInherit;
};

// How a process has ended.
struct ExitStatus {
  int code = 0;    // what it gave to exit; 0 if a signal has ended it
  int signal = 0;  // the signal that has ended it, or 0

  bool ok() const { return code == 0 && signal == 0; }
  // "exit code 1", "signal 9".
  std::string ToString() const;
};

class ExitEvent;

class Process {
 public:
  // Empty: any use throws InvalidArgument.
  Process();
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  // Kills it if it still runs, with SIGKILL, and blocks the thread until it has ended, a moment. To
  // let it end by itself, Wait.
  ~Process();

  // Starts command[0], which is looked for in this process's PATH if no '/' is in it, with the
  // arguments `command`. A relative path, of the program or in PATH, begins at `directory`.
  // InvalidArgument for what no program can be given; the system's error, also of loading the program
  // (ENOENT: neither it nor the directory may be missing; EACCES; E2BIG; EMFILE). Throws Cancelled,
  // having started nothing.
  static absl::StatusOr<Process> Spawn(const std::vector<std::string>& command,
                                       const ProcessOptions& options = {});

  pid_t pid() const;

  // The other ends of its streams; empty where no pipe was asked for. To say that there is no more to
  // read, close in().
  net::Descriptor& in();
  net::Descriptor& out();
  net::Descriptor& err();

  // Blocks until it has ended; from then on returns at once, the same. Of several that wait each gets
  // it. ECHILD if somebody else has waited for it, or SIGCHLD is ignored: its end is not known then.
  // Throws Cancelled; the process goes on.
  absl::StatusOr<ExitStatus> Wait();

  // Wait as an event of Select.
  [[nodiscard]] ExitEvent OnExit();

  // Sends it a signal; ESRCH if it has ended, EINVAL if there is no such signal. Never meets another
  // process, even if the number is used again.
  absl::Status Kill(int signal = SIGKILL);

 private:
  friend class ExitEvent;
  class State;

  explicit Process(std::unique_ptr<State> state);

  State& state(const char* verb) const;

  std::unique_ptr<State> state_;
};

class ExitEvent final : public SelectEvent, public internal::IoCase {
 public:
  using Result = absl::StatusOr<ExitStatus>;

  explicit ExitEvent(Process::State& state);
  Result Take();

 private:
  ssize_t Try(int fd) override;

  Process::State& state_;
};

}  // namespace csp::os

#endif  // CSP_OS_PROCESS_H_
