// A condition variable: waits, with a mutex given up meanwhile, until somebody says that things
// have changed.
//
//   csp::Mutex mu;
//   csp::CondVar not_empty;
//   std::deque<Job> jobs ABSL_GUARDED_BY(mu);
//
//   const csp::MutexLock lock(mu);                      // a consumer
//   while (jobs.empty()) not_empty.Wait(mu);            // or: not_empty.Wait(mu, [&] { … });
//
//   { const csp::MutexLock lock(mu); jobs.push_back(job); }   // a producer
//   not_empty.NotifyOne();
//
//   verb                     with a limit
//   Wait                     WaitFor, WaitUntil
//   NotifyOne, NotifyAll
//
// A notification wakes who waits, fiber or thread, in the order of coming; NotifyOne exactly one,
// if anybody waits. Whoever has been cancelled or has run into his limit before does not count: the
// notification goes to the next. It is not kept if nobody waits. A wait may rarely return without
// one, so it belongs into a loop, or takes a predicate, which is called with the mutex held.
//
// There is no event for Select: to give up a mutex and take it again is not one operation, which
// could lose and have done nothing. Select on an Event, a Semaphore or a channel instead.
//
// Thread rules: all members from any fiber or thread. All who wait at a time use the same mutex. It
// may be destroyed as soon as all who waited have been woken, even while the Notify is on its way
// out.
// Memory ordering: that of the mutex; and what happens before a Notify is visible after a Wait that
// it ended.
// Cost: a notification without anybody waiting takes one uncontended lock; no allocation.
#ifndef CSP_SYNC_COND_VAR_H_
#define CSP_SYNC_COND_VAR_H_

#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "csp/base/clock.h"
#include "csp/base/leaning_lock.h"
#include "csp/select/wait_list.h"
#include "csp/sync/mutex.h"

namespace csp {

class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;
#ifdef NDEBUG
  ~CondVar() = default;
#else
  ~CondVar();
#endif

  // Gives `mutex`, which the caller has, back, waits for a notification, and takes it again;
  // nothing comes between the first two. Throws Cancelled, with the mutex held: before anything is
  // given up or, if the cancellation came during the wait, once the mutex has been had again, for
  // which a cancelled fiber waits, too.
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    (void)WaitUntilNanos(mutex, internal::kForever);
  }
  void Wait(std::unique_lock<Mutex>& lock) ABSL_NO_THREAD_SAFETY_ANALYSIS { Wait(MutexOf(lock)); }

  // Waits until `predicate()`, which may already be true.
  template <class Predicate>
  void Wait(Mutex& mutex, Predicate predicate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    while (!predicate()) Wait(mutex);
  }
  template <class Predicate>
  void Wait(std::unique_lock<Mutex>& lock, Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Wait(MutexOf(lock), predicate);
  }

  // As Wait, up to a limit. True: there was a notification, which then nobody else has got; or it
  // returns for nothing. False: the limit has passed. The mutex is given up in any case.
  bool WaitFor(Mutex& mutex, absl::Duration limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return WaitUntilNanos(mutex, internal::DeadlineAfter(internal::NowNanos(), limit));
  }
  bool WaitUntil(Mutex& mutex, absl::Time deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return WaitUntilNanos(mutex, internal::FromTime(deadline));
  }
  bool WaitFor(std::unique_lock<Mutex>& lock, absl::Duration limit) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return WaitFor(MutexOf(lock), limit);
  }
  bool WaitUntil(std::unique_lock<Mutex>& lock,
                 absl::Time deadline) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return WaitUntil(MutexOf(lock), deadline);
  }

  // Waits until `predicate()`, up to a limit; returns what the predicate said last.
  template <class Predicate>
  bool WaitFor(Mutex& mutex, absl::Duration limit, Predicate predicate)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return WaitUntilNanos(mutex, internal::DeadlineAfter(internal::NowNanos(), limit), predicate);
  }
  template <class Predicate>
  bool WaitUntil(Mutex& mutex, absl::Time deadline, Predicate predicate)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return WaitUntilNanos(mutex, internal::FromTime(deadline), predicate);
  }
  template <class Predicate>
  bool WaitFor(std::unique_lock<Mutex>& lock, absl::Duration limit,
               Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return WaitFor(MutexOf(lock), limit, predicate);
  }
  template <class Predicate>
  bool WaitUntil(std::unique_lock<Mutex>& lock, absl::Time deadline,
                 Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return WaitUntil(MutexOf(lock), deadline, predicate);
  }

  // Wakes the one who has waited longest; nothing happens if nobody waits. Never suspends. The
  // mutex need not be held; what the waiters wait for must have been changed under it.
  void NotifyOne();
  // Wakes all who wait. Never suspends.
  void NotifyAll();

 private:
  bool WaitUntilNanos(Mutex& mutex, std::int64_t deadline);
  template <class Predicate>
  bool WaitUntilNanos(Mutex& mutex, std::int64_t deadline, Predicate& predicate) {
    while (!predicate()) {
      if (!WaitUntilNanos(mutex, deadline)) return predicate();
    }
    return true;
  }

  // Throws SyncError if `lock` has no mutex.
  static Mutex& MutexOf(const std::unique_lock<Mutex>& lock);

  internal::LeaningLock mu_;
  WaitList waiters_;  // under mu_
};

}  // namespace csp

#endif  // CSP_SYNC_COND_VAR_H_
