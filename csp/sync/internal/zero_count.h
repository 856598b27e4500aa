// A count, and who waits for it to be zero: what WaitGroup and Latch are made of.
//
// Invariants
//  1. While mu_ is free: the summary says kZero exactly if the count is 0, and then nobody waits
//     undecided.
//  2. Who waits when the count comes to 0 is claimed by that change, whatever is added afterwards.
//  3. Whoever has seen the count at 0 may destroy the object: so that is seen under mu_ only, which
//     the change has left by then, and the wakes touch waiters only.
//
// Lock: mu_ guards everything; the summary is read without it, as a hint.
#ifndef CSP_SYNC_INTERNAL_ZERO_COUNT_H_
#define CSP_SYNC_INTERNAL_ZERO_COUNT_H_

#include <cstdint>
#include <mutex>

#include "csp/base/leaning_lock.h"
#include "csp/select/block.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_list.h"

namespace csp::internal {

class ZeroCount {
 public:
  class ZeroCase;

  // `count` is not negative.
  explicit ZeroCount(std::int64_t count) : summary_(count == 0 ? kZero : 0), count_(count) {}
  ZeroCount(const ZeroCount&) = delete;
  ZeroCount& operator=(const ZeroCount&) = delete;

  // Adds `delta`; false, and nothing has changed, if the count would be negative or overflow.
  bool Add(std::int64_t delta) {
    WakeList wake;
    {
      const std::lock_guard lock(mu_);
      std::int64_t sum;
      if (__builtin_add_overflow(count_, delta, &sum) || sum < 0) return false;
      count_ = sum;
      summary_.Set(sum == 0 ? kZero : 0);
      if (sum == 0) wake.Claim(waiters_, true);
    }
    wake.WakeAll();
    return true;
  }

  std::int64_t count() const {
    const std::lock_guard lock(mu_);
    return count_;
  }

  bool has_waiters() const {
    const std::lock_guard lock(mu_);
    return !waiters_.empty();
  }

 private:
  static constexpr std::uint64_t kZero = 1;

  mutable LeaningLock mu_;
  Summary summary_;
  std::int64_t count_;
  WaitList waiters_;
};

// The count is zero, as an event; the derived class says in whose name.
class ZeroCount::ZeroCase : public SelectEvent, public Case {
 public:
  using Result = Unit;

  bool Poll() final { return zero_count_.count() == 0; }
  Arming Arm() final {
    const std::lock_guard lock(zero_count_.mu_);
    if (zero_count_.count_ == 0) return Arming::kReady;
    zero_count_.waiters_.PushBack(waiter);
    return Arming::kArmed;
  }
  void Disarm() noexcept final {
    const std::lock_guard lock(zero_count_.mu_);
    zero_count_.waiters_.Remove(waiter);
  }
  Result Take() { return {}; }

  const void* object() const final { return &zero_count_; }

 protected:
  explicit ZeroCase(ZeroCount& zero_count)
      : Case(&zero_count.summary_, kZero), zero_count_(zero_count) {}
  ~ZeroCase() = default;

 private:
  ZeroCount& zero_count_;
};

}  // namespace csp::internal

#endif  // CSP_SYNC_INTERNAL_ZERO_COUNT_H_
