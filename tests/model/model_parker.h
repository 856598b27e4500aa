// A model thread as a Parker: what the scheduler gives to the wait protocol, without a scheduler.
//
//   ModelParker ann;
//   run.Thread("ann", [&] {
//     ann.Enter();          // Parker::Current() is `ann` from here on
//     …
//   });
//
// Fails the model if a Park has two Unparks, or if one is left over (CheckQuiet, after the Join).
#ifndef CSP_TESTS_MODEL_MODEL_PARKER_H_
#define CSP_TESTS_MODEL_MODEL_PARKER_H_

#include <cstdint>

#include "csp/sched/internal/timer_heap.h"
#include "csp/sched/parker.h"
#include "csp/testing/model.h"

namespace csp::internal {

class ModelParker final : public Parker {
 public:
  // The task that it runs, for CancelParker.
  static constexpr std::uint64_t kTask = 1;

  explicit ModelParker(csp::testing::ModelRun& run) : Parker(Kind::kThread), run_(run) {
    words.cancel.store(CancelWordOf(kTask));
  }

  void Enter();
  void CheckQuiet();

  static ModelParker& Current() { return static_cast<ModelParker&>(*Parker::Current()); }
  int Choose(int ways) { return run_.Choose(ways); }

 private:
  friend class Parker;
  void Wait();
  void Notify();

  csp::testing::ModelRun& run_;
  Atomic<bool> unparked_{false};
};

// The time of a model, and its one heap of timers. Without one in the body, time stands still at 0
// and no timer may be armed.
class ModelTime {
 public:
  ModelTime() { current_ = this; }
  ~ModelTime() { current_ = nullptr; }
  ModelTime(const ModelTime&) = delete;
  ModelTime& operator=(const ModelTime&) = delete;

  // It is `now`, and what is due by then fires. By one thread at a time.
  void Pass(std::int64_t now);

  static ModelTime* current() { return current_; }
  std::int64_t now() const { return now_.load(); }
  TimerHeap& heap() { return heap_; }

 private:
  static ModelTime* current_;

  Atomic<std::int64_t> now_{0};
  TimerHeap heap_;
};

}  // namespace csp::internal

#endif  // CSP_TESTS_MODEL_MODEL_PARKER_H_
