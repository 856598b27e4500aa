// A weighted semaphore: a number of permits, of which one can take several at once.
//
//   csp::Semaphore memory(64 << 20);                   // bytes
//   memory.Acquire(size);                              // waits until there are as many
//   …
//   memory.Release(size);
//
//   csp::Select(slots.OnAcquire() >> [&] { Serve(conn); slots.Release(); },
//               csp::OnTimeout(absl::Seconds(1)) >> [&] { Refuse(conn); });
//
//   verb       event        try           with a limit
//   Acquire    OnAcquire    TryAcquire    AcquireFor, AcquireUntil
//
// Fairness: strictly first come first served, nobody overtakes. While somebody waits, nobody else
// gets a permit, not even by TryAcquire, however few he wants and however many are there: who wants
// many is not starved by those who want few. When whoever is first gives up, the next have their
// turn at once.
//
// A semaphore that begins with fewer permits than its size, Semaphore(n, 0), counts what is
// produced.
//
// Thread rules: all members from any fiber or thread. It may be destroyed as soon as those who
// waited have been served, even while the Release that did it is on its way out.
// Memory ordering: what happens before a Release is visible after an Acquire that got its permits.
// Complexity: O(1), and a Release O(number of those it serves). No allocation.
#ifndef CSP_SYNC_SEMAPHORE_H_
#define CSP_SYNC_SEMAPHORE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "csp/select/select_event.h"
#include "csp/sync/internal/permits.h"

namespace csp {

class Semaphore {
 public:
  class AcquireEvent;

  // All permits there. InvalidArgument if `size` is negative.
  explicit Semaphore(std::int64_t size) : Semaphore(size, size) {}
  // `available` of them. InvalidArgument if that is not in [0, size].
  Semaphore(std::int64_t size, std::int64_t available);
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
#ifdef NDEBUG
  ~Semaphore() = default;
#else
  ~Semaphore();
#endif

  // Takes `weight` permits, and waits for them in line. Throws SyncError if `weight` is negative or
  // more than the semaphore's size, which would wait for ever; Cancelled, then it has taken none.
  void Acquire(std::int64_t weight = 1);

  // Takes them if they are there and nobody waits; false, and nothing taken, if not. Never
  // suspends. Throws SyncError as Acquire.
  bool TryAcquire(std::int64_t weight = 1);

  // As Acquire, up to a limit: false if it has passed. Permits that are there win over a limit that
  // has passed.
  bool AcquireFor(absl::Duration limit, std::int64_t weight = 1);
  bool AcquireUntil(absl::Time deadline, std::int64_t weight = 1);

  // Acquire as an event of Select; no result. Losing leaves no place in the line.
  [[nodiscard]] AcquireEvent OnAcquire(std::int64_t weight = 1);

  // Gives `weight` permits back, or produces them, and serves whose turn it is. Never suspends.
  // Throws SyncError if there would be more than the semaphore's size, or `weight` is negative;
  // nothing has changed then.
  void Release(std::int64_t weight = 1);

  // How many nobody has, at some moment; somebody may wait for more than these.
  std::int64_t available() const { return permits_.available(); }
  std::int64_t size() const { return permits_.size(); }

 private:
  void CheckWeight(std::int64_t weight) const;

  internal::Permits permits_;
};

class Semaphore::AcquireEvent final : public SelectEvent, public internal::Permits::TakeCase {
 public:
  using Result = Unit;

  AcquireEvent(Semaphore& semaphore, std::int64_t weight)
      : TakeCase(semaphore.permits_, weight), semaphore_(semaphore) {}

  Result Take() { return {}; }

  const ParkReason& reason() const override;
  const void* object() const override { return &semaphore_; }

 private:
  Semaphore& semaphore_;
};

}  // namespace csp

#endif  // CSP_SYNC_SEMAPHORE_H_
