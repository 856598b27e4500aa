#include "tests/model/model_parker.h"

#include <cstdlib>
#include <iterator>

#include "csp/base/clock.h"
#include "csp/sched/cancel_report.h"
#include "csp/sched/runtime.h"
#include "csp/sched/timer.h"
#include "csp/select/retry.h"

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

ModelTime* ModelTime::current_ = nullptr;

void ModelTime::Pass(std::int64_t now) {
  now_.store(now);
  Timer::Fired fired[8];
  const std::size_t count = heap_.FireDue(now, fired, std::size(fired));
  for (std::size_t i = 0; i < count; ++i) {
    if (fired[i].unpark != nullptr) fired[i].unpark->Unpark();
  }
}

// What csp/sched and csp/base/clock do otherwise.

Departure Parker::BeginPark(const ParkReason&, const void*) {
  static_cast<ModelParker&>(*this).Wait();
  return {};
}
Departure Parker::BeginYield(bool) { return {}; }
void Parker::Resume(boost::context::detail::transfer_t) { std::abort(); }
void Parker::Unpark(ThreadContext*, Turn) { static_cast<ModelParker&>(*this).Notify(); }
Parker* Parker::RegisterThread() { std::abort(); }  // Enter was not called

void Runtime::CheckNotForked() {}
void WarnOfSwallowing(const Parker&, std::uint32_t) {}
void NoteCancelledCall(Parker&, const void*) {}

void Timer::Arm(std::int64_t deadline) {
  never_due_ = deadline == kForever;
  if (!never_due_) ModelTime::current()->heap().Add(*this, deadline);
}
bool Timer::Disarm() {
  if (!never_due_) return heap_ != nullptr && heap_->Remove(*this);
  never_due_ = false;
  return true;
}

std::int64_t NowNanos() {
  return ModelTime::current() != nullptr ? ModelTime::current()->now() : 0;
}

std::int64_t FromTime(absl::Time time) { return absl::ToUnixNanos(time); }

absl::Time ToTime(std::int64_t nanos) {
  return nanos == kForever ? absl::InfiniteFuture() : absl::FromUnixNanos(nanos);
}

std::int64_t DeadlineAfter(std::int64_t now, absl::Duration delay) {
  return now + absl::ToInt64Nanoseconds(delay);
}

// Chance is a choice. Of more than two ways two are enough: models select among two cases.
std::uint32_t RandomBelow(std::uint32_t bound) {
  return static_cast<std::uint32_t>(ModelParker::Current().Choose(bound < 2 ? 1 : 2));
}
void BackOff(int) {}
bool SpinMayPay() { return false; }

}  // namespace csp::internal
