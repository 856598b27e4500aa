#include "csp/net/internal/io_case.h"

#include <errno.h>
#include <poll.h>

#include "csp/base/clock.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/system.h"

namespace csp::internal {

// --- IoCase

bool IoCase::Poll() {
  if (DeadlinePassed()) return true;
  if (hopeless_first_ && file_.drained(direction_) && !file_.closed()) return false;
  if (!file_.Enter()) {
    result_ = kClosedResult;
    return true;
  }
  const bool done = TryNow();
  file_.Leave();
  return done;
}

Arming IoCase::Arm() {
  if (!file_.Enter()) return Arming::kReady;
  std::int64_t deadline;
  if (!file_.Link(direction_, OpenFile::Role::kTaker, waiter, deadline)) {
    file_.Leave();
    return Arming::kReady;
  }
  entered_ = true;
  timed_ = deadline != kForever;
  // A change in between has claimed the waiter: then this entry does nothing until it is taken out.
  if (timed_) timer_.Arm(deadline);
  return Arming::kArmed;
}

void IoCase::Disarm() noexcept {
  if (!entered_) return;
  if (timed_) timer_.Disarm();
  file_.Unlink(direction_, OpenFile::Role::kTaker, waiter);
  entered_ = false;
  file_.Leave();
}

bool IoCase::Accept() {
  if (timed_) {  // perhaps it was the timer that has claimed the waiter
    timer_.Disarm();
    file_.Unlink(direction_, OpenFile::Role::kTaker, waiter);
  }
  bool done = true;
  if (file_.closed()) {
    result_ = kClosedResult;
  } else {
    done = DeadlinePassed() || TryNow();
    if (waiter.ok) file_.PassOn(direction_);
  }
  entered_ = false;
  file_.Leave();
  return done;
}

bool IoCase::DeadlinePassed() {
  const std::int64_t deadline = file_.deadline(direction_);
  if (deadline == kForever || NowNanos() < deadline) [[likely]] {
    return false;
  }
  result_ = kDeadlineResult;
  return true;
}

bool IoCase::TryNow() {
  result_ = Uninterrupted([this] { return Try(file_.fd()); });
  if (result_ != -EAGAIN) return true;
  file_.SetDrained(direction_, true);
  const int failure = file_.TakeFailure(direction_);
  if (failure == 0) return false;
  result_ = -failure;
  return true;
}

// --- WatchCase

bool WatchCase::Poll() {
  if (!file_.Enter()) return true;
  const bool reads = direction_ == Direction::kRead;
  const int ready = Uninterrupted(
      [&] { return TheSystem().Poll(file_.fd(), reads ? POLLIN | POLLRDHUP : POLLOUT); });
  const bool failed = file_.TakeFailure(direction_) != 0;
  file_.Leave();
  return ready != 0 || failed;
}

Arming WatchCase::Arm() {
  if (!file_.Enter()) return Arming::kReady;
  std::int64_t unused;
  if (!file_.Link(direction_, OpenFile::Role::kWatcher, waiter, unused)) {
    file_.Leave();
    return Arming::kReady;
  }
  entered_ = true;
  return Arming::kArmed;
}

void WatchCase::Disarm() noexcept {
  if (!entered_) return;
  file_.Unlink(direction_, OpenFile::Role::kWatcher, waiter);
  entered_ = false;
  file_.Leave();
}

bool WatchCase::Accept() {
  entered_ = false;
  file_.Leave();
  return Poll();  // the wait may have ended for another reason
}

}  // namespace csp::internal
