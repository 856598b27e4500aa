// The seam through which csp reads time.
//
// csp's time line: nanoseconds since the Unix epoch, as the wall clock stood when csp first read
// it, from there on advanced by the monotonic clock. Setting the system's clock therefore changes
// nothing here, and time never runs backwards. (The monotonic clock does not count while the
// machine is suspended.)
//
//   ManualClock clock;                 // virtual time, for tests and simulations
//   ScopedClock use(&clock);           // no runtime may live yet, nor at its end
//   …
//   clock.Advance(absl::Seconds(5));   // timers due by then fire now
#ifndef CSP_BASE_CLOCK_H_
#define CSP_BASE_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "csp/base/intrusive_list.h"

namespace csp {

// A source of time. Implementations are called from any thread, also inside the scheduler: they
// must not block, allocate or call csp.
class Clock {
 public:
  virtual ~Clock() = default;

  // Nanoseconds since the Unix epoch; never less than what any thread has been told before.
  virtual std::int64_t NowNanos() = 0;

  // True if `NowNanos` advances by itself, so that a thread may sleep until a moment of it. A
  // clock that answers false tells its listeners whenever it has moved.
  virtual bool Runs() const = 0;
};

// A clock that stands still until it is told to move. Thread-safe.
class ManualClock final : public Clock {
 public:
  // Starts at the Unix epoch plus `start`.
  explicit ManualClock(absl::Duration start = absl::Hours(24));

  std::int64_t NowNanos() override { return now_.load(std::memory_order_acquire); }
  bool Runs() const override { return false; }

  // Moves forward by `step` (negative: does not move) and wakes whoever sleeps on this clock.
  void Advance(absl::Duration step);

 private:
  std::atomic<std::int64_t> now_;
};

namespace internal {

// The end of the time line: a deadline that never comes.
inline constexpr std::int64_t kForever = INT64_MAX;

// The clock in use: the machine's, unless a ScopedClock lives.
Clock& CurrentClock();

// CurrentClock().NowNanos(), without the virtual call where it is the machine's.
std::int64_t NowNanos();

// `now` + `delay`, saturating: an infinite or overlong delay gives kForever, a negative one `now`.
std::int64_t DeadlineAfter(std::int64_t now, absl::Duration delay);

// A moment of csp's time line as absl::Time and back; kForever is absl::InfiniteFuture().
absl::Time ToTime(std::int64_t nanos);
std::int64_t FromTime(absl::Time time);

// Told, on the thread that moved it, whenever a clock that does not run by itself has moved.
class ClockListener : public ListNode<ClockListener> {
 public:
  virtual void ClockMoved() = 0;

 protected:
  ~ClockListener() = default;
};
void AddClockListener(ClockListener* listener);
void RemoveClockListener(ClockListener* listener);

}  // namespace internal

// Makes `clock` the process's clock for as long as this object lives. Neither its making nor its
// end may fall into the life of a runtime: that ends the process. (The default runtime, once
// started, lives for ever.)
class ScopedClock {
 public:
  explicit ScopedClock(Clock* clock);
  ~ScopedClock();
  ScopedClock(const ScopedClock&) = delete;
  ScopedClock& operator=(const ScopedClock&) = delete;
};

}  // namespace csp

#endif  // CSP_BASE_CLOCK_H_
