#include "csp/base/clock.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace csp {
namespace {

std::int64_t Read(clockid_t id) {
  timespec ts;
  clock_gettime(id, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

std::int64_t RealNowNanos() {
  // Read once, together: from here on only the monotonic clock counts.
  static const std::int64_t offset = Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC);
  return Read(CLOCK_MONOTONIC) + offset;
}

class RealClock final : public Clock {
 public:
  std::int64_t NowNanos() override { return RealNowNanos(); }
  bool Runs() const override { return true; }
};

// Never destroyed: workers read it while static destructors run.
RealClock& TheRealClock() {
  static RealClock& clock = *new RealClock;
  return clock;
}

// Null: the machine's clock.
constinit std::atomic<Clock*> installed{nullptr};

struct Listeners {
  std::mutex mu;
  internal::IntrusiveList<internal::ClockListener> list;
};

// Never destroyed: a runtime may outlive static destructors.
Listeners& TheListeners() {
  static Listeners* listeners = new Listeners;
  return *listeners;
}

// Runtimes listen as long as they live, from before their threads start. Those read the clock all
// the time: one that came or went under them would be used after its end.
void Install(Clock* clock, const char* what) {
  Listeners& listeners = TheListeners();
  const std::lock_guard lock(listeners.mu);
  if (!listeners.list.empty()) {
    std::fprintf(stderr,
                 "csp: ScopedClock: %s while a runtime lives; make it before Run, let it end after "
                 "Run has returned, and use csp inside Run only: the default runtime, which the "
                 "first use outside starts, and a runtime that tasks were left behind in never "
                 "end\n",
                 what);
    std::abort();
  }
  installed.store(clock, std::memory_order_release);
}

}  // namespace

ManualClock::ManualClock(absl::Duration start) : now_(absl::ToInt64Nanoseconds(start)) {}

void ManualClock::Advance(absl::Duration step) {
  Listeners& listeners = TheListeners();
  const std::lock_guard lock(listeners.mu);  // also of two who advance at once
  const std::int64_t now = now_.load(std::memory_order_relaxed);
  now_.store(internal::DeadlineAfter(now, step), std::memory_order_release);
  for (internal::ClockListener* listener = listeners.list.front(); listener != nullptr;
       listener = listeners.list.Next(listener)) {
    listener->ClockMoved();
  }
}

ScopedClock::ScopedClock(Clock* clock) { Install(clock, "made"); }
ScopedClock::~ScopedClock() { Install(nullptr, "ends"); }

namespace internal {

Clock& CurrentClock() {
  Clock* clock = installed.load(std::memory_order_acquire);
  return clock != nullptr ? *clock : TheRealClock();
}

std::int64_t NowNanos() {
  Clock* clock = installed.load(std::memory_order_acquire);
  return clock == nullptr ? RealNowNanos() : clock->NowNanos();
}

std::int64_t DeadlineAfter(std::int64_t now, absl::Duration delay) {
  if (delay <= absl::ZeroDuration()) return now;
  std::int64_t deadline;
  // ToInt64Nanoseconds saturates by itself.
  if (__builtin_add_overflow(now, absl::ToInt64Nanoseconds(delay), &deadline)) return kForever;
  return deadline;
}

absl::Time ToTime(std::int64_t nanos) {
  return nanos == kForever ? absl::InfiniteFuture() : absl::FromUnixNanos(nanos);
}

std::int64_t FromTime(absl::Time time) {
  return time == absl::InfiniteFuture() ? kForever : absl::ToUnixNanos(time);
}

void AddClockListener(ClockListener* listener) {
  const std::lock_guard lock(TheListeners().mu);
  TheListeners().list.PushBack(listener);
}

void RemoveClockListener(ClockListener* listener) {
  const std::lock_guard lock(TheListeners().mu);
  TheListeners().list.Remove(listener);
}

}  // namespace internal
}  // namespace csp
