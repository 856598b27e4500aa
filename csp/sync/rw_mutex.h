// A readers-writer mutex for fibers and plain threads: one writer, or any number of readers.
//
//   csp::RWMutex mu;
//   Table table ABSL_GUARDED_BY(mu);
//
//   { const std::shared_lock lock(mu); Look(table); }
//   { const std::unique_lock lock(mu); Change(table); }
//
//   verb           event      try                with a limit
//   lock           OnLock     try_lock           try_lock_for, try_lock_until
//   lock_shared    OnRLock    try_lock_shared    try_lock_shared_for, try_lock_shared_until
//
// Fairness: strictly first come first served. A reader that finds a writer in the line stands
// behind him, also while other readers are inside, and also with try_lock_shared; so readers that
// never cease do not starve a writer, nor writers a reader. Readers that stand next to each other
// go in together. When a writer gives up, those behind him have their turn at once.
//
// For that reason a reader must not lock it again while he has it: with a writer in between both
// wait for ever. There is no way up from reader to writer, either.
//
// Use it where readers stay inside for long, or wait there. For a few instructions a Mutex is
// quicker: here every reader, too, writes to the mutex twice.
//
// Thread rules: all members from any fiber or thread; as with Mutex, it may be destroyed as soon as
// whoever destroys it has had it and nobody else will want it.
// Memory ordering: what happens before an unlock is visible after the next lock or lock_shared,
// what happens before an unlock_shared after the next lock.
// Complexity: O(1), and an unlock O(number of those it lets in). No allocation.
#ifndef CSP_SYNC_RW_MUTEX_H_
#define CSP_SYNC_RW_MUTEX_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "csp/select/select_event.h"
#include "csp/sync/internal/permits.h"
#include "csp/sync/internal/std_time.h"

namespace csp {

class ABSL_LOCKABLE RWMutex {
 public:
  class LockEvent;
  class RLockEvent;

  RWMutex() : permits_(kAll, kAll) {}
  RWMutex(const RWMutex&) = delete;
  RWMutex& operator=(const RWMutex&) = delete;
#ifdef NDEBUG
  ~RWMutex() = default;
#else
  ~RWMutex();
#endif

  // --- The writer.

  // Blocks until the caller alone has it. No cancellation point.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION();
  // Never suspends. Throws SyncError if no writer has it.
  void unlock() ABSL_UNLOCK_FUNCTION();
  // True: the caller has it. False: somebody else has it, or stands in the line. Never suspends.
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return permits_.Take(kAll); }
  // As lock, up to a limit: false if it has passed. Throws Cancelled; the caller then has nothing.
  bool try_lock_for(absl::Duration limit) ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true);
  bool try_lock_until(absl::Time deadline) ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true);
  // The lock as an event of Select; its result is a std::unique_lock that has it.
  [[nodiscard]] LockEvent OnLock();

  // --- A reader. The same, together with other readers.

  void lock_shared() ABSL_SHARED_LOCK_FUNCTION();
  // Never suspends. Throws SyncError if no reader has it.
  void unlock_shared() ABSL_UNLOCK_FUNCTION();
  bool try_lock_shared() ABSL_SHARED_TRYLOCK_FUNCTION(true) { return permits_.Take(kOne); }
  bool try_lock_shared_for(absl::Duration limit) ABSL_SHARED_TRYLOCK_FUNCTION(true);
  bool try_lock_shared_until(absl::Time deadline) ABSL_SHARED_TRYLOCK_FUNCTION(true);
  // Its result is a std::shared_lock.
  [[nodiscard]] RLockEvent OnRLock();

  // The limits in the standard's terms.
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> limit)
      ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return try_lock_for(internal::FromStd(limit));
  }
  template <class AnyClock, class Span>
  bool try_lock_until(std::chrono::time_point<AnyClock, Span> deadline)
      ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return try_lock_for(internal::LimitOf(deadline));
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(std::chrono::duration<Rep, Period> limit)
      ABSL_SHARED_TRYLOCK_FUNCTION(true) {
    return try_lock_shared_for(internal::FromStd(limit));
  }
  template <class AnyClock, class Span>
  bool try_lock_shared_until(std::chrono::time_point<AnyClock, Span> deadline)
      ABSL_SHARED_TRYLOCK_FUNCTION(true) {
    return try_lock_shared_for(internal::LimitOf(deadline));
  }

 private:
  class Wait;

  // A reader takes one permit, a writer all.
  static constexpr std::int64_t kOne = 1;
  static constexpr std::int64_t kAll = std::int64_t{1} << 40;

  bool LockUntil(std::int64_t weight, std::int64_t deadline);

  internal::Permits permits_;
};

class RWMutex::LockEvent final : public SelectEvent, public internal::Permits::TakeCase {
 public:
  using Result = std::unique_lock<RWMutex>;

  explicit LockEvent(RWMutex& mutex) : TakeCase(mutex.permits_, kAll), mutex_(mutex) {}

  Result Take() { return Result(mutex_, std::adopt_lock); }

  const ParkReason& reason() const override;
  const void* object() const override { return &mutex_; }

 private:
  RWMutex& mutex_;
};

class RWMutex::RLockEvent final : public SelectEvent, public internal::Permits::TakeCase {
 public:
  using Result = std::shared_lock<RWMutex>;

  explicit RLockEvent(RWMutex& mutex) : TakeCase(mutex.permits_, kOne), mutex_(mutex) {}

  Result Take() { return Result(mutex_, std::adopt_lock); }

  const ParkReason& reason() const override;
  const void* object() const override { return &mutex_; }

 private:
  RWMutex& mutex_;
};

inline RWMutex::LockEvent RWMutex::OnLock() { return LockEvent(*this); }
inline RWMutex::RLockEvent RWMutex::OnRLock() { return RLockEvent(*this); }

// Hold a RWMutex for their own lifetime, known to clang's analysis.
class ABSL_SCOPED_LOCKABLE WriterLock {
 public:
  explicit WriterLock(RWMutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~WriterLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  RWMutex& mutex_;
};

class ABSL_SCOPED_LOCKABLE ReaderLock {
 public:
  explicit ReaderLock(RWMutex& mutex) ABSL_SHARED_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  RWMutex& mutex_;
};

}  // namespace csp

#endif  // CSP_SYNC_RW_MUTEX_H_
