// A latched event: once set it stays set, and everybody who waits, now or later, goes on.
//
//   csp::Event ready;
//   csp::Go([&] { Prepare(); ready.Set(); });
//   csp::Select(ready.OnWait() >> [] { … }, csp::OnTimeout(absl::Seconds(1)) >> [] { … });
//
// It is written with what csp offers to everybody, and is the model for events of your own.
//
// Thread rules: all members from any fiber or thread. It may be destroyed as soon as a Wait for it
// has returned, even while Set still is on its way out. Reset is for owners who know that nobody
// waits for the previous Set any more.
// Memory ordering: what happens before Set is visible after a Wait that it ended.
#ifndef CSP_SELECT_EVENT_H_
#define CSP_SELECT_EVENT_H_

#include <mutex>

#include "absl/time/time.h"
#include "csp/base/clock.h"
#include "csp/select/block.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_list.h"

namespace csp {

class Event {
 public:
  class WaitEvent;

  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Sets the event and wakes all who wait; nothing happens if it is set. Never suspends.
  void Set();

  // Unsets it. Never suspends.
  void Reset();

  bool is_set() const { return summary_.Read() & kSet; }

  // Blocks until the event is set. Throws Cancelled.
  void Wait();
  // The same up to a limit: false if it has passed before.
  bool WaitFor(absl::Duration limit);
  bool WaitUntil(absl::Time deadline);

  // The same for Select; no result.
  [[nodiscard]] WaitEvent OnWait();

 private:
  static constexpr std::uint64_t kSet = 1;

  ObjectLock mu_;
  Summary summary_;  // written under mu_
  WaitList waiters_;
};

class Event::WaitEvent final : public SelectEvent, public Case {
 public:
  using Result = Unit;

  explicit WaitEvent(Event& event) : Case(&event.summary_, kSet), event_(event) {}

  // Under the lock: whoever has seen the event set may destroy it, so Set must have left.
  bool Poll() override {
    const std::lock_guard lock(event_.mu_);
    return event_.is_set();
  }
  Arming Arm() override {
    const std::lock_guard lock(event_.mu_);
    if (event_.is_set()) return Arming::kReady;
    event_.waiters_.PushBack(waiter);
    return Arming::kArmed;
  }
  void Disarm() noexcept override {
    const std::lock_guard lock(event_.mu_);
    event_.waiters_.Remove(waiter);
  }
  Result Take() { return {}; }

  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Wait", "event"};
    return kReason;
  }
  const void* object() const override { return &event_; }

 private:
  Event& event_;
};

inline void Event::Set() {
  WakeList wake;
  {
    const std::lock_guard lock(mu_);
    summary_.Set(kSet);
    wake.Claim(waiters_, true);
  }
  wake.WakeAll();
}

inline void Event::Reset() {
  const std::lock_guard lock(mu_);
  summary_.Set(0);
}

inline void Event::Wait() {
  WaitEvent event(*this);
  Block(event);
}

inline bool Event::WaitFor(absl::Duration limit) {
  WaitEvent event(*this);
  return internal::BlockUntil(event, internal::DeadlineAfter(internal::NowNanos(), limit));
}

inline bool Event::WaitUntil(absl::Time deadline) {
  WaitEvent event(*this);
  return internal::BlockUntil(event, internal::FromTime(deadline));
}

inline Event::WaitEvent Event::OnWait() { return WaitEvent(*this); }

}  // namespace csp

#endif  // CSP_SELECT_EVENT_H_
