#include "csp/sched/internal/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "csp/base/clock.h"

namespace csp::internal {
namespace {

std::int64_t Futex(Atomic<std::uint32_t>& word, int op, std::uint32_t value,
                   const timespec* timeout) {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return syscall(SYS_futex, &word, op | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

}  // namespace

void FutexWait(Atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t until) {
  if (until != kForever && until <= NowNanos()) return;
  if (until == kForever || !CurrentClock().Runs()) {
    Futex(word, FUTEX_WAIT, expected, nullptr);
    return;
  }
  const std::int64_t left = until - NowNanos();
  if (left > 0) FutexWaitFor(word, expected, left);
}

// FUTEX_WAIT's timeout is relative, by the monotonic clock.
void FutexWaitFor(Atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t nanos) {
  const timespec timeout{static_cast<time_t>(nanos / 1'000'000'000), nanos % 1'000'000'000};
  Futex(word, FUTEX_WAIT, expected, &timeout);
}

void FutexWakeAll(Atomic<std::uint32_t>& word) { Futex(word, FUTEX_WAKE, INT32_MAX, nullptr); }

void FutexWake(Atomic<std::uint32_t>& word) { Futex(word, FUTEX_WAKE, 1, nullptr); }

}  // namespace csp::internal
