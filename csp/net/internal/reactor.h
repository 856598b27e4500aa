// The reactor: tells when descriptors become ready. It is Boost.Asio's io_context, of which nothing
// but `async_wait` is used, as the scheduler's poller (poller.h): it has no thread of its own.
//
// Each runtime has one, from the first wait for a descriptor in it on. A descriptor is registered
// with the reactor of the runtime that first waits for it, and stays there; when that runtime ends,
// it is registered anew with that of whoever waits next.
//
// Invariants
//  1. A wait that has been started ends with exactly one Ready of its owner: when the descriptor is
//     ready, or has an error, or has been deregistered, or the reactor's runtime ends. Ready is
//     therefore no promise, only a reason to try again.
//  2. Starting a wait looks at the descriptor anew (the kernel reports what is ready at that
//     moment, too), so what has happened before is not missed, and nothing needs to be remembered.
//  3. The owner, and with it the memory of the wait, stays until Ready has returned: the wait holds
//     a reference. No memory is allocated for a wait.
//  4. A registration ends before its descriptor is closed, so a number that is used again meets no
//     old event. What is on its way by then ends its own waits, and no others.
//  5. `state_` says what Break must do; see there. Break moves it from kOut, kWaiting and kNapping;
//     everything else, and always back to kOut, the thread that polls. The context is made ready to
//     run before the state is kWaiting, so no stop is lost on the way; one that comes too late ends
//     a later Poll for no reason.
//
// Why a wait costs a system call: Asio forgets a wait that has ended, and starts the next one by
// epoll_ctl. That it looks anew is what lets a reader skip the call that would say EAGAIN after a
// short read. An operation that stays in Asio for ever (there are only its insides to make one of)
// would save the epoll_ctl, but then, since Asio does not ask the kernel for EPOLLRDHUP, each reader
// would have to make that call.
//
// Thread rules: all members from any thread; Poll from one at a time.
#ifndef CSP_NET_INTERNAL_REACTOR_H_
#define CSP_NET_INTERNAL_REACTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "csp/base/atomic.h"
#include "csp/base/cache_line.h"
#include "csp/net/internal/counted.h"
#include "csp/sched/poller.h"

namespace csp::internal {

enum class Direction : std::uint8_t { kRead, kWrite };

// Whose waits these are.
class ReactorClient : public Counted {
 public:
  // A wait has ended. On whatever thread ends it; never suspends.
  virtual void Ready(Direction direction) noexcept = 0;
};

class Reactor final : public Poller, public std::enable_shared_from_this<Reactor> {
 public:
  class Registration;

  // That of the calling fiber's runtime (on other threads, the default runtime), made if need be.
  // Null if the system has no descriptors for it: then `error` says why.
  static std::shared_ptr<Reactor> OfCurrentRuntime(int& error);

  ~Reactor() override;

  void Poll(std::int64_t until) override;
  void Break() override;
  bool HasSources() const override;
  void RuntimeEnds() override;

 private:
  friend class Registration;
  class WaitHandler;
  class TimerHandler;
  struct Asio;

  enum State : std::uint32_t {
    kOut,        // nobody polls
    kBroken,     // nobody polls, and the next one shall not wait
    kWaiting,    // in the kernel, for descriptors: Break stops it
    kNapping,    // asleep, for a time too short for the kernel's timers: Break wakes it
    kReturning,  // on its way out
  };

  Reactor();
  void Wait(std::int64_t now, std::int64_t until);
  void Nap(std::int64_t until);
  void ArmTimer(std::int64_t now, std::int64_t until);
  std::size_t RunReady();
  void RunOrphan();

  const std::unique_ptr<Asio> asio_;
  Atomic<bool> orphaned_{false};
  // Written all the time, by whoever polls and by whoever waits; what is above is read by all.
  alignas(kCacheLine) SleepPoller nap_;
  Atomic<std::uint32_t> state_{kOut};
  std::int64_t timer_until_ = INT64_MIN;  // when the timer fires, on csp's time line; the poller's
  alignas(kCacheLine) Atomic<std::int64_t> waits_{0};  // that have been started and have not ended
};

// A descriptor's place in a reactor.
class Reactor::Registration {
 public:
  // Of `fd` with `reactor`; `error` is not 0 if the system refuses.
  Registration(std::shared_ptr<Reactor> reactor, int fd, ReactorClient& client, int& error);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // Starts a wait; in each direction at most one at a time. Not after Deregister.
  void Wait(Direction direction);

  // Ends all waits. At most once, and when no Wait is under way.
  void Deregister();

  // True: the reactor's runtime has ended; make another one.
  bool orphaned() const { return reactor_->orphaned_.load(std::memory_order_acquire); }

 private:
  friend class Reactor;
  struct Slots;

  const std::shared_ptr<Reactor> reactor_;
  ReactorClient& client_;
  const std::unique_ptr<Slots> slots_;
};

}  // namespace csp::internal

#endif  // CSP_NET_INTERNAL_REACTOR_H_
