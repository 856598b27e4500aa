// The contract between the scheduler and whatever turns the outside world into wake-ups (csp/net
// installs Asio's reactor; until then nothing happens out there).
//
// The scheduler promises: at most one thread is in Poll at any time; a worker that has nothing to
// do blocks there, and under full load Poll is called with `until` in the past now and then.
// The poller promises:
//  - Poll returns when `until` (csp's time line) is reached, after any event, after Break, or for
//    no reason. It unparks whoever its events complete.
//  - Break, from any thread, makes the Poll in progress return, or if there is none the next one.
//    It is cheap when nobody polls.
//  - HasSources says whether anything could ever happen without Break; the deadlock report asks.
//  - It never suspends a fiber and never throws.
//  - After RuntimeEnds nobody polls any more. Whoever still waits on an event must be told, and look
//    for another poller.
#ifndef CSP_SCHED_POLLER_H_
#define CSP_SCHED_POLLER_H_

#include <cstdint>

#include "csp/base/atomic.h"

namespace csp::internal {

class Poller {
 public:
  virtual ~Poller() = default;
  virtual void Poll(std::int64_t until) = 0;
  virtual void Break() = 0;
  virtual bool HasSources() const = 0;
  virtual void RuntimeEnds() {}
};

// The poller of a runtime that has no reactor: sleeps on a futex.
class SleepPoller final : public Poller {
 public:
  void Poll(std::int64_t until) override;
  void Break() override;
  bool HasSources() const override { return false; }

 private:
  Atomic<std::uint32_t> broken_{0};
};

}  // namespace csp::internal

#endif  // CSP_SCHED_POLLER_H_
