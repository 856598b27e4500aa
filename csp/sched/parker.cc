#include "csp/sched/parker.h"

#include <thread>

#include "csp/base/clock.h"
#include "csp/sched/internal/thread_record.h"
#include "csp/sched/internal/worker.h"
#include "csp/sched/runtime.h"

namespace csp::internal {

Departure Parker::BeginPark(const ParkReason& reason, const void* object) {
  note.object.store(object, std::memory_order_relaxed);
  note.reason.store(&reason, std::memory_order_relaxed);
  Departure departure;
  if (kind_ == Kind::kFiber) [[likely]] {
    Worker* worker = thread_->worker;
    note.since.store(worker->CoarseNow(), std::memory_order_relaxed);
    departure = worker->Park(static_cast<Fiber&>(*this));
  } else {
    note.since.store(NowNanos(), std::memory_order_relaxed);
    static_cast<ThreadRecord&>(*this).Wait();
  }
  if (!departure) note.reason.store(nullptr, std::memory_order_relaxed);
  return departure;
}

Departure Parker::BeginYield(bool voluntary) {
  if (kind_ == Kind::kFiber) [[likely]] {
    return thread_->worker->Yield(static_cast<Fiber&>(*this), voluntary);
  }
  std::this_thread::yield();
  return {};
}

void Parker::Resume(boost::context::detail::transfer_t transfer) {
  Worker::Arrive(static_cast<Fiber&>(*this).context, this, transfer);
  note.reason.store(nullptr, std::memory_order_relaxed);
}

void Parker::Unpark(ThreadContext* waker, Turn turn) {
  if (kind_ == Kind::kThread) [[unlikely]] {
    static_cast<ThreadRecord&>(*this).Notify();
    return;
  }
  auto& fiber = static_cast<Fiber&>(*this);
  Worker* worker = waker->worker;
  Runtime* runtime = fiber.runtime.load(std::memory_order_relaxed);
  if (worker != nullptr && &worker->runtime() == runtime) {
    worker->Schedule(&fiber, turn);
  } else {
    runtime->MakeReady(&fiber);
  }
}

Parker* Parker::RegisterThread() { return ThreadRecord::OfThisThread(); }

}  // namespace csp::internal
