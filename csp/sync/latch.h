// A latch: counts down to zero, once, and lets everybody pass from then on.
//
//   csp::Latch ready(3);
//   for (int i = 0; i < 3; ++i) csp::Go([&] { Prepare(); ready.CountDown(); });
//   ready.Wait();
//
//   verb             event     try        with a limit
//   Wait             OnWait    TryWait    WaitFor, WaitUntil
//   ArriveAndWait
//
// As std::latch, for fibers too. A WaitGroup can also be added to, a Barrier is for many rounds.
//
// Thread rules: all members from any fiber or thread. It may be destroyed as soon as a Wait has
// returned and nobody else uses it, even while the last CountDown is on its way out.
// Memory ordering: what happens before a CountDown is visible after a Wait.
// Complexity: O(1), and the last CountDown O(number of waiters). No allocation.
#ifndef CSP_SYNC_LATCH_H_
#define CSP_SYNC_LATCH_H_

#include <cstdint>

#include "absl/time/time.h"
#include "csp/sync/internal/zero_count.h"

namespace csp {

class Latch {
 public:
  class WaitEvent;

  // InvalidArgument if `count` is negative. Of 0: open from the start.
  explicit Latch(std::int64_t count);
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;
#ifdef NDEBUG
  ~Latch() = default;
#else
  ~Latch();
#endif

  // Takes `n` off the count; at zero all who wait go on. Never suspends. Throws SyncError, and
  // nothing has changed, if `n` is negative or the count would be.
  void CountDown(std::int64_t n = 1);

  // Blocks until the count is zero. Throws Cancelled.
  void Wait();
  // CountDown, then Wait. Throws Cancelled: either at once and nothing has been counted, or later,
  // for the wait alone, and what was counted stays so.
  void ArriveAndWait(std::int64_t n = 1);
  // True if the count is zero. Never suspends.
  bool TryWait() { return count_.count() == 0; }
  // As Wait, up to a limit: false if it has passed.
  bool WaitFor(absl::Duration limit);
  bool WaitUntil(absl::Time deadline);
  // The same for Select; no result.
  [[nodiscard]] WaitEvent OnWait();

 private:
  internal::ZeroCount count_;
};

class Latch::WaitEvent final : public internal::ZeroCount::ZeroCase {
 public:
  explicit WaitEvent(Latch& latch) : ZeroCase(latch.count_) {}
  const ParkReason& reason() const override;
};

inline Latch::WaitEvent Latch::OnWait() { return WaitEvent(*this); }

}  // namespace csp

#endif  // CSP_SYNC_LATCH_H_
