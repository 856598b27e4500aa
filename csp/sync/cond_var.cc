// Invariants
//  1. A waiter is linked while its mutex is still held, so whoever changes the condition under the
//     mutex and then notifies finds it.
//  2. A notification is a claim: of notification, limit and cancellation one decides the wait. Who
//     is linked but decided otherwise is passed over, so that NotifyOne is neither lost nor
//     doubled.
//  3. Before the mutex is taken again the waiter is unlinked and the timer at rest: whoever waits
//     for the mutex is no longer to be found here.
//  4. Claims are made under mu_, the wakes come after: a wake is the notifier's last touch.
//  5. The mutex is taken again in every case, also on the way out of an exception, as lock() does
//     it: shielded. Only then is Cancelled thrown.
#include "csp/sync/cond_var.h"

#include "csp/select/attempt.h"
#include "csp/select/blocking.h"
#include "csp/select/wait_timer.h"
#include "csp/sync/internal/check.h"

namespace csp {
namespace {

constexpr ParkReason kReason{"Wait", "cond_var"};
constexpr int kNotified = 0;
constexpr int kLate = 1;

// Takes the mutex again, whichever way the wait is left.
class Relock {
 public:
  explicit Relock(Mutex& mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) { mutex_.unlock(); }
  ~Relock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  Relock(const Relock&) = delete;
  Relock& operator=(const Relock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace

bool CondVar::WaitUntilNanos(Mutex& mutex, std::int64_t deadline) {
  if (!mutex.IsLocked()) {
    internal::ThrowSyncError("CondVar::Wait: nobody has the mutex; lock it before the wait");
  }
  internal::Parker* self = internal::EnterBlocking();
  if (deadline != internal::kForever && internal::NowNanos() >= deadline) {
    const Relock relock(
        mutex);  // others get their turn, or a loop over this would keep it for ever
    return false;
  }
  internal::Attempt attempt(self);
  Waiter notified, late;
  internal::WaitTimer timer(late);
  if (!attempt.Begin(internal::Shielded(*self))) {
    internal::ThrowIfCancelled(*self);
    return true;  // it was another task that was cancelled
  }
  notified.Bind(attempt, kNotified);
  late.Bind(attempt, kLate);
  try {
    timer.Arm(deadline);
  } catch (...) {
    if (attempt.Abort()) throw;
    // Decided before, by a canceller.
  }
  int index;
  {
    {
      const std::lock_guard lock(mu_);
      waiters_.PushBack(notified);
    }
    const Relock relock(mutex);
    index = attempt.Await(kReason, this);
    if (index != kLate) timer.Disarm();
    if (index != kNotified) {
      const std::lock_guard lock(mu_);
      waiters_.Remove(notified);
    }
  }
  if (index == internal::Attempt::kCancelled) internal::ThrowIfCancelled(*self);
  return index != kLate;
}

void CondVar::NotifyOne() {
  Waiter* waiter;
  {
    const std::lock_guard lock(mu_);
    waiter = waiters_.PopClaimed();
  }
  if (waiter != nullptr) waiter->Wake();
}

void CondVar::NotifyAll() {
  WakeList wake;
  {
    const std::lock_guard lock(mu_);
    wake.Claim(waiters_, true);
  }
  wake.WakeAll();
}

Mutex& CondVar::MutexOf(const std::unique_lock<Mutex>& lock) {
  if (!lock.owns_lock()) {
    internal::ThrowSyncError("CondVar::Wait: the std::unique_lock has no mutex; lock it first");
  }
  return *lock.mutex();
}

#ifndef NDEBUG
CondVar::~CondVar() {
  const std::lock_guard lock(mu_);
  if (!waiters_.empty()) internal::AbortDestroyedInUse("CondVar: destroyed while somebody waits");
}
#endif

}  // namespace csp
