#include "tests/model/model_parker.h"

#include <cstdlib>

#include "csp/base/clock.h"
#include "csp/sched/timer.h"
#include "csp/sched/yield.h"

namespace csp::internal {

void ModelParker::Enter() {
  ThreadContext* thread = CurrentThread();
  thread->parker = this;
  thread->budget = INT32_MAX;
  RunsOn(thread);
}

void ModelParker::CheckQuiet() {
  run_.Check(!unparked_.load(), "an Unpark was left over");
  run_.Check(words.pins.load() == 0, "a pin was left over");
  run_.Check(words.direct.load() == nullptr, "a direct wait was left over");
}

void ModelParker::Wait() {
  while (!unparked_.load(std::memory_order_acquire)) CpuRelax();
  unparked_.store(false, std::memory_order_relaxed);
}

void ModelParker::Notify() {
  // Release only: a real Unpark need not be a barrier.
  run_.Check(!unparked_.load(std::memory_order_relaxed), "two Unparks for one Park");
  unparked_.store(true, std::memory_order_release);
}

// What csp/sched does otherwise.

Departure Parker::BeginPark(const ParkReason&, const void*) {
  static_cast<ModelParker&>(*this).Wait();
  return {};
}
Departure Parker::BeginYield(bool) { return {}; }
void Parker::Resume(boost::context::detail::transfer_t) { std::abort(); }
void Parker::Unpark(ThreadContext*) { static_cast<ModelParker&>(*this).Notify(); }
Parker* Parker::RegisterThread() { std::abort(); }  // Enter was not called

Random& ThisRandom() { return ModelParker::Current().random(); }
void NoteSelectRetry() {}

}  // namespace csp::internal
