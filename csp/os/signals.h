// The process's signals, as something to wait for.
//
//   absl::StatusOr<csp::os::Signals> signals = csp::os::Signals::Subscribe({SIGINT, SIGTERM});
//   if (!signals.ok()) …
//   csp::Select(
//       signals->OnSignal() >> [&](absl::StatusOr<int> number) { Shutdown(); },
//       jobs.OnRecv() >> [&](std::optional<Job> job) { … });
//
// From Subscribe on a signal that has come waits until it is taken, between two selects, too; each
// subscriber gets it. As in the kernel itself, a signal that comes again before it has been taken is
// one signal. While somebody is subscribed the signal's usual effect (SIGINT: the process ends) and a
// handler that was installed before do not take place; after the last subscriber they do again.
//
// Thread rules: all members from any fiber or thread, at the same time, except for the destructor
// and for moving.
// Memory ordering: what happens before raise or pthread_kill is visible to who has taken the signal.
#ifndef CSP_OS_SIGNALS_H_
#define CSP_OS_SIGNALS_H_

#include <sys/types.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "csp/net/internal/counted.h"
#include "csp/net/internal/io_case.h"
#include "csp/net/internal/open_file.h"
#include "csp/select/select_event.h"

namespace csp {
namespace internal {

class SignalMailbox;

}  // namespace internal

namespace os {

class SignalEvent;

class Signals {
 public:
  // Empty: all but Close throws InvalidArgument.
  Signals();
  Signals(Signals&&) noexcept;
  // Closes.
  Signals& operator=(Signals&& other) noexcept;
  ~Signals();

  // InvalidArgument for what is no signal, or cannot be waited for (SIGKILL, SIGSTOP, and those that
  // mean a fault: SIGSEGV, SIGBUS, SIGFPE, SIGILL); the system's error (EMFILE).
  static absl::StatusOr<Signals> Subscribe(const std::vector<int>& numbers);

  // Blocks until one of the signals has come, and takes it. Of several that have come the one with
  // the lowest number. An error that net::IsClosed knows after Close. Throws Cancelled, having taken
  // none.
  absl::StatusOr<int> Wait();

  // The same as an event of Select. If the case loses, no signal has been taken.
  [[nodiscard]] SignalEvent OnSignal();

  // Ends the subscription, and all waits in it; what has come and not been taken is lost. Never
  // suspends.
  void Close();

 private:
  Signals(std::unique_ptr<internal::SignalMailbox> mailbox,
          internal::Ref<internal::OpenFile> event_file);

  internal::OpenFile& file(const char* verb) const;

  std::unique_ptr<internal::SignalMailbox> mailbox_;
  internal::Ref<internal::OpenFile> file_;
};

class SignalEvent final : public SelectEvent, public internal::IoCase {
 public:
  using Result = absl::StatusOr<int>;

  SignalEvent(internal::OpenFile& file, internal::SignalMailbox& mailbox);
  Result Take();

 private:
  ssize_t Try(int fd) override;

  internal::SignalMailbox& mailbox_;
};

}  // namespace os
}  // namespace csp

#endif  // CSP_OS_SIGNALS_H_
