// An event that lets one waiter pass for each time it is set.
//
//   csp::AutoResetEvent wake;
//   csp::Go([&] { for (;;) { wake.Wait(); Flush(); } });
//   wake.Set();                                    // one round of Flush, also for several Sets
//
//   verb    event     try        with a limit
//   Wait    OnWait    TryWait    WaitFor, WaitUntil
//
// Set gives the event to whoever has waited longest; if nobody waits, it is kept for the next who
// comes, but once only: a second Set then changes nothing. (A Semaphore keeps count. An Event stays
// set until it is Reset, and lets everybody pass.)
//
// Thread rules: all members from any fiber or thread. It may be destroyed as soon as a Wait has
// returned and nobody else uses it, even while the Set that ended it is on its way out.
// Memory ordering: what happens before a Set is visible after the Wait that it ended.
// Complexity: O(1), no allocation.
#ifndef CSP_SYNC_AUTO_RESET_EVENT_H_
#define CSP_SYNC_AUTO_RESET_EVENT_H_

#include <cstdint>

#include "absl/time/time.h"
#include "csp/base/leaning_lock.h"
#include "csp/select/case.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_list.h"

namespace csp {

class AutoResetEvent {
 public:
  class WaitEvent;

  explicit AutoResetEvent(bool set = false) : summary_(set ? kSet : 0) {}
  AutoResetEvent(const AutoResetEvent&) = delete;
  AutoResetEvent& operator=(const AutoResetEvent&) = delete;
#ifdef NDEBUG
  ~AutoResetEvent() = default;
#else
  ~AutoResetEvent();
#endif

  // Lets one who waits pass, or the next who comes. Never suspends.
  void Set();
  // Takes back a Set that nobody has used. Never suspends.
  void Reset();

  // Blocks until the event is set, and unsets it. Throws Cancelled; the event is as it was then.
  void Wait();
  // True: it was set, and has been unset. Never suspends.
  bool TryWait();
  // As Wait, up to a limit: false if it has passed.
  bool WaitFor(absl::Duration limit);
  bool WaitUntil(absl::Time deadline);
  // The same for Select; no result.
  [[nodiscard]] WaitEvent OnWait();

 private:
  static constexpr std::uint64_t kSet = 1;

  bool is_set() const { return (summary_.Read() & kSet) != 0; }

  internal::LeaningLock mu_;
  Summary summary_;   // written under mu_
  WaitList waiters_;  // under mu_
};

class AutoResetEvent::WaitEvent final : public SelectEvent, public Case {
 public:
  using Result = Unit;

  explicit WaitEvent(AutoResetEvent& event) : Case(&event.summary_, kSet), event_(event) {}

  bool Poll() override { return event_.TryWait(); }
  Arming Arm() override;
  void Disarm() noexcept override;
  Result Take() { return {}; }

  const ParkReason& reason() const override;
  const void* object() const override { return &event_; }

 private:
  AutoResetEvent& event_;
};

inline AutoResetEvent::WaitEvent AutoResetEvent::OnWait() { return WaitEvent(*this); }

}  // namespace csp

#endif  // CSP_SYNC_AUTO_RESET_EVENT_H_
