#include "csp/base/leaning_lock.h"

namespace csp::internal {
namespace {

constinit Atomic<LeanRecord*> all_records{nullptr};  // grows at the head only

}  // namespace

void AcquireLeanRecord() {
  LeanRecord* record = all_records.load(std::memory_order_acquire);
  for (; record != nullptr; record = record->next) {
    bool in_use = false;
    if (record->in_use.compare_exchange_strong(in_use, true, std::memory_order_acq_rel)) break;
  }
  if (record == nullptr) {
    record = new LeanRecord;
    record->next = all_records.load(std::memory_order_relaxed);
    while (!all_records.compare_exchange_weak(record->next, record, std::memory_order_release,
                                              std::memory_order_relaxed)) {
    }
  }
  CurrentThread()->lean = record;
}

void ReleaseLeanRecord() {
  LeanRecord* record = CurrentThread()->lean;
  CurrentThread()->lean = nullptr;
  record->in_use.store(false, std::memory_order_release);
}

// With `held_` held: the lock leans to somebody, or changes hands, or a streak is complete.
void LeaningLock::LockRarely(LeanRecord* me) {
  if (LeanRecord* favourite = leans_to_.load(std::memory_order_relaxed)) {
    leans_to_.store(nullptr, std::memory_order_relaxed);
    HeavyBarrier();
    while (favourite->inside.load(std::memory_order_acquire) == this) CpuRelax();
    streak_ = 0;
  } else if (me != nullptr && me == last_) {
    // From the next time on. This section still is `held_`'s, which nobody then waits for.
    streak_ = 0;
    leans_to_.store(me, std::memory_order_relaxed);
  } else {
    streak_ = 0;
  }
  last_ = me;
}

}  // namespace csp::internal
