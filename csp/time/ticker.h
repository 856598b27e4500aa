// A ticker: an event that happens again and again, at a fixed rate.
//
//   csp::Ticker ticker(absl::Milliseconds(100));
//   for (;;) {
//     csp::Select(
//         ticker.OnTick() >> [&](std::int64_t ticks) { Redraw(ticks); },   // usually 1
//         quit.OnRecv()   >> …);
//   }
//
// Ticks lie `period` apart, the first one `period` after the start, on a grid that does not drift
// however late they are received. Ticks that nobody has received yet are not queued but counted:
// the next receiver gets them all as one number. 1: none has been missed; n: it stands for n ticks,
// of which n - 1 are late. Each tick is in exactly one receiver's count.
//
// - After Stop or Reset has returned no tick of before can be received, by anybody.
// - Nothing is received early, measured on csp's time line (time.h).
// - Who waits while Stop or Reset is called goes on waiting, for the new ticks if there are any.
// - In a Select, OnTick is chosen fairly among all events that are ready.
//
//   verb     event      try
//   Tick     OnTick     TryTick
//
// Thread rules: all members from any fiber or thread. Destroy it only when nobody waits for it.
// Memory ordering: receiving a tick orders nothing.
// Cost: an object of its own, no allocation; a ticker that nobody waits for costs nothing, and
// needs no Stop before it is destroyed. If several wait, each is woken at each tick, and those that
// find it taken wait on; who gets it is not fixed.
#ifndef CSP_TIME_TICKER_H_
#define CSP_TIME_TICKER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "csp/select/select_event.h"
#include "csp/time/internal/alarm.h"

namespace csp {

class Ticker {
 public:
  class TickEvent;

  // Ticks every `period` from now on; never, if that is infinite. Throws InvalidArgument if it is
  // zero or less. (What is less than a nanosecond counts as one.)
  explicit Ticker(absl::Duration period);
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Blocks until there is a tick; returns how many there have been since the last receive. Throws
  // Cancelled.
  std::int64_t Tick();

  // The same for Select; the result is std::int64_t.
  [[nodiscard]] TickEvent OnTick();

  // What Tick would return, or 0 if it would block. Never suspends.
  std::int64_t TryTick() { return alarm_.Take(); }

  // No more ticks until Reset. Never suspends.
  void Stop() { alarm_.Stop(); }

  // Begins anew, whether it was stopped or not: the next tick comes `period` from now. Throws
  // InvalidArgument if that is zero or less; then nothing has changed. Never suspends.
  void Reset(absl::Duration period);

 private:
  internal::Alarm alarm_;
};

// Borrows the ticker.
class Ticker::TickEvent final : public SelectEvent, public internal::AlarmCase {
 public:
  using Result = std::int64_t;

  explicit TickEvent(Ticker& ticker) : AlarmCase(ticker.alarm_) {}

  Result Take() { return ticks(); }

  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Tick", "ticker"};
    return kReason;
  }
};

inline Ticker::TickEvent Ticker::OnTick() { return TickEvent(*this); }

}  // namespace csp

#endif  // CSP_TIME_TICKER_H_
