// What a task's handle and its fiber share: the closure until it has run, then the result, and who
// joins. One allocation per task.
//
// Invariants
//  1. Two own it: the scheduler, until Finished, and the handle, until Detach. Under `mu_` the first
//     to go leaves a mark, done or detached, and the second, who finds it, destroys.
//  2. The last touch of the first is the unlock. So the second, if it has seen the mark without the
//     lock, waits until the lock is free.
//  3. The outcome is written before `done` is set, and read only after it was seen set.
//  4. A failure is observed by Join, or else reported to the panic handler, once: by whoever drops
//     the last chance to observe it.
#ifndef CSP_TASK_TASK_STATE_H_
#define CSP_TASK_TASK_STATE_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "csp/base/panic.h"
#include "csp/base/spinlock.h"
#include "csp/sched/record_pool.h"
#include "csp/sched/task_record.h"
#include "csp/select/blocking.h"
#include "csp/select/case.h"
#include "csp/select/direct_wait.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_list.h"

namespace csp::internal {

class Runtime;

// Everything that does not depend on the result's type.
class TaskState : public TaskRecord {
 public:
  TaskState(const TaskState&) = delete;
  TaskState& operator=(const TaskState&) = delete;

  static void* operator new(std::size_t bytes) { return AllocateRecord(bytes); }
  static void operator delete(void* state, std::size_t bytes) { ReleaseRecord(state, bytes); }
  // For closures that are aligned to more than that.
  static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return ::operator new(bytes, alignment);
  }
  static void operator delete(void* state, std::size_t /*bytes*/, std::align_val_t alignment) {
    ::operator delete(state, alignment);
  }

  // Gives up the handle; a failure that nobody has seen is reported then.
  void Detach();

  // How it ended. `kFailed` has an error, `kCancelled` none.
  enum class End : std::uint8_t { kRunning, kReturned, kFailed, kCancelled };

  bool done() const { return (summary_.Read() & kDone) != 0; }

  // After done: throws what the task threw, TaskCancelled, or nothing. Marks the end as observed.
  void Rethrow();

  // True if `self`, the caller, is the fiber that runs this task.
  bool RunsOn(const Parker& self) const {
    return NumberIn(self.words.cancel.load(std::memory_order_relaxed)) == number;
  }

  // Waits until it is done. Throws Cancelled; JoinError if the caller is the task itself.
  void AwaitDone();

  // What a join in a select waits for.
  class JoinCase;

  // It never will run. Destroys the task, and what it was to inherit.
  void Abandon();

  // Makes `name` a copy of its own. Before it is spawned.
  void KeepName(const std::string& text);

  Runtime* runtime = nullptr;  // whose panic handler is told; may be gone by then

 protected:
  explicit TaskState(bool has_handle) : detached_(!has_handle) {}
  virtual ~TaskState();

  // True once the closure is gone.
  bool ended() const { return end_ != End::kRunning; }

  // The derived class's part of Run: calls the closure, keeps the result.
  virtual void Invoke() = 0;
  // Destroys the closure; afterwards the captures are gone.
  virtual void DropClosure() noexcept = 0;
  // It could not be run. May take the error; then nobody else is told of it.
  virtual void Refused(std::exception_ptr&) noexcept {}

 private:
  static constexpr std::uint64_t kDone = 1;

  void Run() noexcept final;
  void Fail(std::exception_ptr error) noexcept final;
  void Finished() noexcept final;

  void NoteEnd(End end, std::exception_ptr error);
  bool LeaveToHandle();
  bool LeaveToScheduler();
  void Destroy();

  SpinLock mu_{LockRank::kObject};
  Atomic<bool> detached_;           // nobody holds a handle; written under mu_
  Atomic<bool> unobserved_{false};  // failed, and nobody has been told
  End end_ = End::kRunning;
  bool owns_name_ = false;
  Summary summary_;   // written under mu_
  WaitList joiners_;  // under mu_
  std::exception_ptr error_;
};

// A task that has not been handed over to run yet: if it cannot be, it is destroyed.
struct AbandonTask {
  void operator()(TaskState* task) const { task->Abandon(); }
};
using NewTask = std::unique_ptr<TaskState, AbandonTask>;

inline constexpr ParkReason kJoinReason{"Join", "task"};

[[noreturn]] void ThrowSelfJoin(const char* call);
[[noreturn]] void ThrowEmptyFunction(const char* call);

// Throws InvalidArgument, which names `call`, for an empty std::function or a null pointer.
template <class F>
void CheckNotEmpty(const char* call, const F& function) {
  if constexpr (!std::is_function_v<F> && !std::is_empty_v<F> &&
                requires { function == nullptr; }) {
    if (function == nullptr) ThrowEmptyFunction(call);
  }
}

inline void TaskState::AwaitDone() {
  class Join final : public DirectWait {
   public:
    explicit Join(TaskState& task) : DirectWait(EnterBlocking(), kJoinReason, &task), task_(task) {}

   private:
    bool Withdraw(Waiter& waiter) noexcept override {
      const std::lock_guard lock(task_.mu_);
      const bool linked = waiter.linked();
      task_.joiners_.Remove(waiter);
      return linked;
    }
    TaskState& task_;
  };

  Join join(*this);
  if (RunsOn(*join.self())) [[unlikely]] {
    ThrowSelfJoin("Task::Join");
  }
  while (!done()) {
    {
      const std::lock_guard lock(mu_);
      if (done()) return;
      if (Waiter* waiter = join.Begin()) joiners_.PushBack(*waiter);
    }
    if (join.Await()) return;
  }
}

class TaskState::JoinCase : public Case {
 public:
  // Null: no task, never ready.
  explicit JoinCase(TaskState* task)
      : Case(task != nullptr ? &task->summary_ : nullptr, kDone), task_(task) {}

  bool Poll() final { return task_->done(); }
  Arming Arm() final {
    const std::lock_guard lock(task_->mu_);
    if (task_->done()) return Arming::kReady;
    task_->joiners_.PushBack(waiter);
    return Arming::kArmed;
  }
  void Disarm() noexcept final {
    const std::lock_guard lock(task_->mu_);
    task_->joiners_.Remove(waiter);
  }
  const ParkReason& reason() const final { return kJoinReason; }
  const void* object() const final { return task_; }

 protected:
  ~JoinCase() = default;

 private:
  TaskState* const task_;
};

// With a result of type R.
template <class R>
class ResultState : public TaskState {
 public:
  // After done and Rethrow; once.
  R TakeResult() {
    R result = std::move(*result_);
    result_.reset();
    return result;
  }

 protected:
  using TaskState::TaskState;
  template <class F>
  void Keep(F&& closure) {
    result_.emplace(std::invoke(std::forward<F>(closure)));
  }

 private:
  std::optional<R> result_;
};
template <>
class ResultState<void> : public TaskState {
 public:
  void TakeResult() {}

 protected:
  using TaskState::TaskState;
  template <class F>
  void Keep(F&& closure) {
    std::invoke(std::forward<F>(closure));
  }
};

// With the closure that makes it, which lives until it has run.
template <class F, class R>
class ClosureState final : public ResultState<R> {
 public:
  template <class G>
  ClosureState(bool has_handle, G&& closure) : ResultState<R>(has_handle) {
    std::construct_at(&closure_, std::forward<G>(closure));
  }

 private:
  ~ClosureState() override {
    if (!this->ended()) DropClosure();
  }

  void Invoke() override { this->Keep(std::move(closure_)); }
  void DropClosure() noexcept override { std::destroy_at(&closure_); }

  union {
    F closure_;
  };
};

}  // namespace csp::internal

#endif  // CSP_TASK_TASK_STATE_H_
