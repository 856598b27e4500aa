// The exceptions of csp.
//
// Misuse of the library is a csp::Panic: a programming error that says which call was wrong and
// what to do instead. What the world does to a program (sockets, files) is absl::Status and never
// comes this way. Cancellation unwinds a fiber by csp::Cancelled, which is no error at all and
// therefore no std::exception: a `catch (const std::exception&)` does not swallow it.
//
//   try {
//     jobs.Send(job);
//   } catch (const csp::ClosedChannel& e) {
//     Log(e.what());  // "Chan::Send: the channel is closed; ..."
//   }
#ifndef CSP_BASE_PANIC_H_
#define CSP_BASE_PANIC_H_

#if __cplusplus < 202002L
#error "csp needs C++20: compile with -std=c++20 or later."
#endif
#if !defined(__cpp_exceptions)
#error "csp reports misuse and cancellation by exceptions: compile without -fno-exceptions."
#endif

#include <stdexcept>
#include <string>

namespace csp {

// Base of every misuse error. what() names the call and the remedy.
class Panic : public std::runtime_error {
 public:
  explicit Panic(const std::string& message) : std::runtime_error(message) {}
};

// Send on, or Close of, a channel that is closed.
class ClosedChannel : public Panic {
 public:
  using Panic::Panic;
};

// A blocking call, Close or Try on a default-constructed channel.
class NilChannel : public Panic {
 public:
  using Panic::Panic;
};

// A Select in which no case can ever become ready, and without a Default.
class NoLiveCase : public Panic {
 public:
  using Panic::Panic;
};

// An option, size, capacity or duration out of its range.
class InvalidArgument : public Panic {
 public:
  using Panic::Panic;
};

// Unlock of what is not locked, a lock taken twice by one fiber, a count below zero or above what
// it was made for: misuse of something in csp/sync.
class SyncError : public Panic {
 public:
  using Panic::Panic;
};

// Join of a task whose result is gone, or of the calling task itself.
class JoinError : public Panic {
 public:
  using Panic::Panic;
};

// Join of a task that was cancelled. (The joiner itself is not cancelled.)
class TaskCancelled : public Panic {
 public:
  using Panic::Panic;
};

// A task that could not start because no stack was to be had.
class NoStack : public Panic {
 public:
  using Panic::Panic;
};

// A call that needs a running runtime came after Shutdown, inside a forked child, or Run was
// called inside a fiber; or a thread that the runtime needs could not be started.
class RuntimeError : public Panic {
 public:
  using Panic::Panic;
};

// Thrown by a blocking call in a fiber that has been cancelled; means only *this* fiber. Let it
// pass: the runtime catches it at the fiber's entry, after the destructors have run.
class Cancelled {
 public:
  Cancelled() = default;
};

}  // namespace csp

#endif  // CSP_BASE_PANIC_H_
