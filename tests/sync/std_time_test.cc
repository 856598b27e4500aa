// The mutexes with limits in the standard's terms: all of its units, and as far as they go.

#include <chrono>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using StdTimeTest = RuntimeTest;
CSP_INSTANTIATE(StdTimeTest);

// Calls `visit` with every form of a limit, and whether it lies in the future.
template <class Visit>
void ForEachLimit(Visit visit) {
  using namespace std::chrono;  // NOLINT
  visit(duration<double>(0.0), false);
  visit(duration<int, std::milli>(-1), false);
  visit(nanoseconds::min(), false);
  visit(hours::min(), false);
  visit(duration<double>(-1e300), false);
  visit(steady_clock::time_point::min(), false);
  visit(system_clock::time_point::min(), false);
  visit(sys_seconds::min(), false);
  visit(sys_days(1970y / 1 / 1), false);
  visit(duration<double>(1e6), true);
  visit(days(1), true);
  visit(weeks(1), true);
  visit(nanoseconds::max(), true);
  visit(hours::max(), true);
  visit(duration<double>(std::numeric_limits<double>::infinity()), true);
  visit(steady_clock::time_point::max(), true);
  visit(system_clock::time_point::max(), true);
  visit(sys_seconds::max(), true);
}

template <class Lock, class Rep, class Period>
bool TryLock(Lock& lock, std::chrono::duration<Rep, Period> limit) {
  return lock.try_lock_for(limit);
}
template <class Lock, class AnyClock, class Span>
bool TryLock(Lock& lock, std::chrono::time_point<AnyClock, Span> deadline) {
  return lock.try_lock_until(deadline);
}

// One in the future lets somebody else's section end; one in the past does not.
template <class Lock, class Mu>
void ExpectLimitsHold() {
  ForEachLimit([](auto limit, bool in_future) {
    Mu mu;
    Event held, go_on;
    Task<void> other = Go([&] {
      const std::lock_guard lock(mu);
      held.Set();
      go_on.Wait();
    });
    held.Wait();
    if (in_future) go_on.Set();
    Lock lock(mu, std::defer_lock);
    EXPECT_EQ(TryLock(lock, limit), in_future);
    go_on.Set();
    other.Join();
  });
}

TEST_P(StdTimeTest, OfAMutex) { Here(ExpectLimitsHold<std::unique_lock<Mutex>, Mutex>); }
TEST_P(StdTimeTest, OfAWriter) { Here(ExpectLimitsHold<std::unique_lock<RWMutex>, RWMutex>); }
TEST_P(StdTimeTest, OfAReader) { Here(ExpectLimitsHold<std::shared_lock<RWMutex>, RWMutex>); }

}  // namespace
}  // namespace csp
