#include "csp/sched/internal/worker.h"

#include <chrono>
#include <exception>
#include <thread>

#include "csp/base/clock.h"
#include "csp/base/leaning_lock.h"
#include "csp/base/panic.h"
#include "csp/sched/internal/fiber_pool.h"
#include "csp/sched/internal/thread_setup.h"
#include "csp/sched/runtime.h"

namespace csp::internal {

using boost::context::detail::transfer_t;

Worker::Worker(Runtime& runtime, int index)
    : runtime_(runtime), idle_(runtime.idle()), index_(index), random_(NextRandomSeed()) {}

Worker::~Worker() {
  timers_.Orphan();
  if (stacks_ != nullptr) FiberPool::Get().Release(stacks_);
}

void Worker::Run() {
  thread_ = CurrentThread();
  thread_->worker = this;
  thread_->records = &records_;
  // Who waits on the root (a task's closure that is destroyed there, a handler) is a plain thread.
  root_parker_ = Parker::Current();
  exceptions_ = ThreadExceptionState();
  SetUpThread(root_);
  AcquireLeanRecord();
  coarse_now_.store(NowNanos(), std::memory_order_relaxed);
  sightings_ = std::make_unique<Sighting[]>(static_cast<std::size_t>(runtime_.worker_count()));
  for (;;) {
    if (!failed_.empty()) FailTasks();
    Runnable next = Next();
    if (!next) next = FindWork();
    if (!next) break;
    if (const Departure departure = Depart(root_, next)) {
      Arrive(root_, root_parker_, Leave(departure));
    } else if (failed_.empty()) {
      // The fiber's departure from its worker takes too long: that thread has been preempted, and
      // may be waiting for this processor.
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  ReleaseLeanRecord();
  TearDownThread();
  thread_->records = nullptr;
  thread_->worker = nullptr;
}

// --- Switching.

Departure Worker::Park(Fiber& self) {
  counters.parks.Add();
  return LeaveFor(self, Next());
}

Departure Worker::Yield(Fiber& self, bool voluntary) {
  if (self.home != nullptr) {
    inbox_.Push(&self);
  } else {
    if (voluntary) {
      yields_.Add();
      ready_.PushYielded(&self);
    } else {
      ready_.PushBack(&self);
    }
    AfterLocalPush();
  }
  return LeaveFor(self, Next());
}

Departure Worker::LeaveFor(Fiber& self, Runnable next) {
  if (next.fiber == &self) {  // ready again before it has left
    thread_->budget = kOperationBudget;
    return {};
  }
  return Depart(self.context, next);
}

Departure Worker::Depart(Context& self, Runnable next) {
  void* point = nullptr;
  Context& target = Resolve(next, point);
  if (&target == &self) return {};  // the root, at the root
  self.exceptions = *exceptions_;
  from = &self;
  to = &target;
  target.point.store(nullptr, std::memory_order_relaxed);
  return {point, this};
}

CSP_NO_TSAN void Worker::SwitchAway(Fiber& finished, Runnable next) {
  const Departure departure = Depart(finished.context, next);
  finished_ = &finished;
  Leave(departure, /*ends=*/true);
  __builtin_unreachable();
}

// The arriving side of every switch: saves where the departing side stands, and makes this thread
// the arrived fiber's. The worker of before the switch may not be touched any more.
Worker* Worker::Arrive(Context& self, Parker* parker, transfer_t transfer) {
  FinishSwitch(self);
  auto* worker = static_cast<Worker*>(static_cast<Switch*>(transfer.data));
  // Pairs with the acquire in AwaitPoint and Resolve: the departed fiber may be resumed from here.
  worker->from->point.store(transfer.fctx, std::memory_order_release);
  if (Fiber* finished = worker->finished_) [[unlikely]] {
    worker->finished_ = nullptr;
    worker->KeepStack(finished);
  }
  *worker->exceptions_ = self.exceptions;
  worker->thread_->parker = parker;
  if (parker != nullptr) parker->RunsOn(worker->thread_);
  worker->thread_->budget = kOperationBudget;
  return worker;
}

// The context to switch to and its point: the root where there is nothing to run, no stack to run
// it on, or where the chosen fiber takes too long to leave the worker that it is on.
Context& Worker::ResolveSlow(Runnable next, void*& point) {
  Fiber* fiber = next.fiber;
  if (fiber == nullptr && next.task != nullptr) fiber = Start(next.task);
  if (fiber != nullptr) {
    point = AwaitPoint(*fiber);
    if (point != nullptr) {
      arriving_ = fiber;
      return fiber->context;
    }
  }
  point = root_.point.load(std::memory_order_relaxed);
  return root_;
}

void* Worker::AwaitPoint(Fiber& fiber) {
  constexpr int kSpins = 500;  // some ten microseconds; the usual departure takes tens of ns
  for (int i = 0; i < kSpins; ++i) {
    if (void* point = fiber.context.point.load(std::memory_order_acquire)) return point;
    CpuRelax();
  }
  if (fiber.home != nullptr) {
    inbox_.Push(&fiber);
  } else {
    PushReady(&fiber);
    AfterLocalPush();  // while in hand it was nowhere
  }
  return nullptr;
}

// A fiber's bottom frame: runs tasks, one after another, until there is a started fiber to switch
// to. A newborn of the same stack size is taken over without a switch.
CSP_NO_TSAN void Worker::FiberMain(transfer_t transfer) {
  auto* cargo = static_cast<Switch*>(transfer.data);
  Fiber& self = *static_cast<Worker*>(cargo)->arriving_;
  Arrive(self.context, &self, transfer);
  for (;;) {
    Worker* worker = RunTask(self);
    const Runnable next = worker->Next();
    // (Under ASan each task begins on a clean stack, see BuryStack.)
    if (kAsan || next.task == nullptr || next.task->stack_class != self.stack_class()) {
      worker->SwitchAway(self, next);
    }
    self.Bind(next.task, *worker);
    worker->thread_->budget = kOperationBudget;
  }
}

// Runs the fiber's task to its end. Everything in it may suspend; so the worker afterwards, which
// is returned, is perhaps another.
Worker* Worker::RunTask(Fiber& fiber) {
  TaskRecord* task = fiber.task;
  task->Run();
  task->fiber.store(nullptr, std::memory_order_release);
  // Runs user code as well: a result's destructor, the panic handler. It may wait, so the fiber
  // still is the task's; who cancels it now comes too late.
  ++fiber.words.shield_depth;
  task->Finished();
  fiber.Unbind();
  Worker* worker = fiber.thread()->worker;
  worker->counters.finished.Add();
  if (worker->runtime_.stopping()) [[unlikely]] {
    worker->runtime_.NoteFinished();
  }
  return worker;
}

Fiber* Worker::Start(TaskRecord* task) {
  Fiber* fiber = TakeStack(task->stack_class);
  if (fiber == nullptr) {
    failed_.PushBack(task);
    return nullptr;
  }
  RaiseStack(fiber->stack_low(), fiber->stack_size());
  fiber->Bind(task, *this);
  PrepareContext(fiber->context, fiber, &Worker::FiberMain);
  return fiber;
}

// On the root's stack: whoever chose these tasks to run had parked already.
void Worker::FailTasks() {
  while (TaskRecord* task = failed_.PopFront()) {
    task->Fail(std::make_exception_ptr(NoStack(
        "Go: no stack could be had for the task; raise vm.max_map_count, RLIMIT_AS (ulimit -v) or "
        "vm.overcommit_memory, or run fewer tasks at a time")));
    task->Finished();
    counters.finished.Add();
    if (runtime_.stopping()) runtime_.NoteFinished();
  }
}

Fiber* Worker::TakeStack(std::uint8_t stack_class) {
  Fiber* fiber = stacks_;
  if (fiber != nullptr && stack_class == fiber->stack_class()) {
    stacks_ = fiber->next;
    --stack_count_;
    return fiber;
  }
  return FiberPool::Get().Acquire(stack_class);
}

void Worker::KeepStack(Fiber* fiber) {
  BuryStack(fiber->stack_low(), fiber->stack_size());
  if (fiber->stack_class() != runtime_.default_stack_class()) {
    fiber->next = nullptr;
    FiberPool::Get().Release(fiber);
    return;
  }
  fiber->next = stacks_;
  stacks_ = fiber;
  if (++stack_count_ <= kCachedStacks) return;
  // Keep the half used last.
  Fiber* last = stacks_;
  for (std::uint32_t i = 1; i < kCachedStacks / 2; ++i) last = last->next;
  Fiber* rest = last->next;
  last->next = nullptr;
  stack_count_ = kCachedStacks / 2;
  FiberPool::Get().Release(rest);
}

// --- Choosing.

Runnable Worker::Next() {
  ticks_.Add();
  const std::uint64_t tick = ticks_.value();
  if (runtime_.frozen()) [[unlikely]] {
    runtime_.Freeze();
  }
  if (tick % kMaintainEvery == 0) [[unlikely]] {
    if (Runnable next = Maintain()) return next;
  }
  // Pinned work takes turns with the rest: each of them may be ready all the time.
  if (!inbox_.empty() && tick % 2 == 0) [[unlikely]] {
    if (Runnable next = TakePinned(tick)) return next;
  }
  const bool slot_last = tick % kSlotBudget == kSlotBudget / 2 + 1;  // never when others come first
  const ReadyQueue::Favour favour = tick % kFavourEvery != 0       ? ReadyQueue::Favour::kNone
                                    : tick / kFavourEvery % 2 == 0 ? ReadyQueue::Favour::kNewborn
                                                                   : ReadyQueue::Favour::kYielded;
  if (Runnable next = ready_.Pop(favour, slot_last)) return next;
  if (!inbox_.empty()) [[unlikely]] {
    if (Runnable next = TakePinned(tick)) return next;
  }
  return TakeGlobal(kMaintainEvery);
}

// Fibers, but every fourth time a task that has not started.
Runnable Worker::TakePinned(std::uint64_t tick) {
  if (tick % 8 == 0) {
    if (TaskRecord* task = inbox_.PopTask()) return {nullptr, task};
  }
  Fiber* fiber = nullptr;
  if (inbox_.PopFibers(&fiber, 1) == 1) return {fiber, nullptr};
  return {nullptr, inbox_.PopTask()};
}

// What must be looked at now and then however much there is to do: without it a busy worker would
// never see what came from outside.
Runnable Worker::Maintain() {
  const std::uint64_t tick = ticks_.value();
  const bool has_sources = runtime_.poller().HasSources();
  if (tick % kCoarseNowEvery == 0 || timers_.next_hint() != kForever || has_sources) {
    const std::int64_t now = NowNanos();
    coarse_now_.store(now, std::memory_order_relaxed);
    if (timers_.next_hint() <= now) FireTimers(*this, now);
    if (has_sources) runtime_.PollNow(now);
    // (A clock that does not run says nothing about how long it was.)
    constexpr std::int64_t kGlanceEveryNanos = 1'000'000;
    if (now - last_glance_ >= kGlanceEveryNanos || tick % kGlanceEvery == 0) GlanceAtOthers(now);
  }
  if (tick % kOldestNewbornEvery == 0) {
    if (TaskRecord* task = ready_.PopOldestNewborn()) return {nullptr, task};
  }
  return TakeGlobal(kMaintainEvery);
}

Runnable Worker::TakeGlobal(std::size_t limit) {
  InjectQueue& global = runtime_.inject();
  if (global.empty()) return {};
  Fiber* fibers[kMaintainEvery];
  const std::size_t count = global.PopFibers(fibers, limit);
  // Tasks that foreign threads spawned take turns with fibers that they woke.
  TaskRecord* task = global.PopTask();
  const std::size_t runs_now = task == nullptr && count > 0 ? 1 : 0;
  for (std::size_t i = runs_now; i < count; ++i) PushReady(fibers[i]);
  // While in hand they were nowhere: a watcher may have looked and gone to sleep.
  if (count > runs_now) AfterLocalPush();
  return {runs_now == 1 ? fibers[0] : nullptr, task};
}

void Worker::Spawn(TaskRecord* task) {
  counters.spawned.Add();
  Enqueue(task);
}

void Worker::Enqueue(TaskRecord* task) {
  if (last_number_ == end_number_) {
    constexpr std::uint64_t kBlock = 1024;
    last_number_ = Runtime::TakeNumbers(kBlock);
    end_number_ = last_number_ + kBlock;
  }
  task->number = ++last_number_;
  if (task->pinned) {
    inbox_.Push(task);
    return;
  }
  ready_.PushNewborn(task);
  AfterLocalPush();
}

void Worker::BreakPoller() { runtime_.poller().Break(); }

void Worker::PushReady(Fiber* fiber) {
  if (fiber->home != nullptr) [[unlikely]] {
    fiber->home->PushInbox(fiber);
  } else {
    ready_.PushBack(fiber);
  }
}

void Worker::PushInbox(Fiber* fiber) {
  inbox_.Push(fiber);
  SummonIfIdle();
}

void Worker::PushInbox(TaskRecord* task) {
  inbox_.Push(task);
  SummonIfIdle();
}

void Worker::SummonIfIdle() {
  switch (runtime_.idle().Summon(seat_)) {
    case Idle::Summons::kNone:
      break;
    case Idle::Summons::kCall:
      runtime_.Call(seat_);
      break;
    case Idle::Summons::kBreak:
      runtime_.poller().Break();
      break;
  }
}

// Nobody who lives has started this task, so the runtime may just have found that none is left: if
// it does not see the count, the task here sees the shutdown, and does nothing.
void Worker::SpawnFired(TaskRecord* task) {
  counters.spawned.Add();
  LightBarrier();  // pairs with BeginShutdown's heavy one
  if (runtime_.stopping()) task->cancel_requested.store(true, std::memory_order_relaxed);
  Enqueue(task);
}

void Worker::FireTimers(Worker& by, std::int64_t now) {
  constexpr std::size_t kBatch = 64;
  Timer::Fired fired[kBatch];
  std::size_t count;
  do {
    count = timers_.FireDue(now, fired, kBatch);
    by.counters.timers_fired.Add(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (fired[i].unpark != nullptr) fired[i].unpark->Unpark();
      if (fired[i].spawn != nullptr) by.SpawnFired(fired[i].spawn);
    }
  } while (count == kBatch);
}

}  // namespace csp::internal
