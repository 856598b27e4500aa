// A barrier: a fixed number of parties meet again and again; nobody goes on before all have
// arrived.
//
//   csp::Barrier step(workers);
//   for (int w = 0; w < workers; ++w) {
//     csp::Go([&, w] {
//       for (int t = 0; t < steps; ++t) {
//         Compute(w, t);
//         if (step.ArriveAndWait()) Report(t);        // one of them, each time
//       }
//     });
//   }
//
//   verb             event            try               with a limit
//   ArriveAndWait
//   Arrive
//   Wait(phase)      OnWait(phase)    TryWait(phase)    WaitFor, WaitUntil
//
// Arrive says that one party has arrived and does not wait; the phase it returns can be waited for,
// also in a select and with a limit. ArriveAndWait is one operation: one that is cancelled before
// all have arrived has not arrived.
//
// Thread rules: all members from any fiber or thread. It may be destroyed as soon as whoever
// destroys it has passed the last phase and nobody else will call it, even while others wake.
// Memory ordering: what happens before an arrival is visible to all after the phase has ended.
// Complexity: O(1), and the last arrival O(number of waiters). No allocation.
#ifndef CSP_SYNC_BARRIER_H_
#define CSP_SYNC_BARRIER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "csp/base/leaning_lock.h"
#include "csp/select/case.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_list.h"

namespace csp {

class Barrier {
 public:
  class WaitEvent;

  // The number of a phase, from 0.
  using Phase = std::uint64_t;

  // InvalidArgument if there is not at least one party.
  explicit Barrier(std::int64_t parties);
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
#ifdef NDEBUG
  ~Barrier() = default;
#else
  ~Barrier();
#endif

  // Arrives, and blocks until all have. True for the one that arrived last, once each phase. Throws
  // Cancelled, then it has not arrived; SyncError if all parties have been dropped.
  bool ArriveAndWait();

  // Arrives; returns the phase that this counts for. Never suspends. Throws SyncError if all
  // parties have been dropped.
  Phase Arrive();

  // Arrives, and takes no part from the next phase on. Never suspends. Throws SyncError if all
  // parties have been dropped.
  void ArriveAndDrop();

  // Blocks until `phase` has ended. Throws Cancelled; SyncError if the phase has not begun.
  void Wait(Phase phase);
  // True if it has. Never suspends.
  bool TryWait(Phase phase);
  // As Wait, up to a limit: false if it has passed.
  bool WaitFor(Phase phase, absl::Duration limit);
  bool WaitUntil(Phase phase, absl::Time deadline);
  // The same for Select; no result.
  [[nodiscard]] WaitEvent OnWait(Phase phase);

 private:
  class Arrival;

  void CheckParties() const;
  void CheckPhase(Phase phase) const;
  void ArriveLocked(WakeList& wake);

  mutable internal::LeaningLock mu_;
  // Under mu_:
  std::int64_t parties_;
  std::int64_t arrived_ = 0;
  Phase phase_ = 0;
  WaitList arrivals_;  // in ArriveAndWait
  WaitList waiters_;   // for the current phase to end
};

class Barrier::WaitEvent final : public SelectEvent, public Case {
 public:
  using Result = Unit;

  WaitEvent(Barrier& barrier, Phase phase) : Case(Kind::kAsk), barrier_(barrier), phase_(phase) {}

  bool Poll() override { return barrier_.TryWait(phase_); }
  Arming Arm() override;
  void Disarm() noexcept override;
  Result Take() { return {}; }

  const ParkReason& reason() const override;
  const void* object() const override { return &barrier_; }

 private:
  Barrier& barrier_;
  const Phase phase_;
};

}  // namespace csp

#endif  // CSP_SYNC_BARRIER_H_
