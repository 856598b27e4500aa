// A task: a function at work on its own fiber, and the handle to wait for it.
//
//   csp::Task<int> answer = csp::Go([] { return 42; });
//   int v = answer.Join();                       // rethrows what the task threw
//
//   csp::Go([] { Work(); });                     // handle discarded: detached
//
//   csp::Select(answer.OnJoin() >> [](int v) { … },
//               csp::OnTimeout(absl::Seconds(1)) >> [] { … });
//
// A task that throws harms no other: the exception is kept for Join. If nobody can join any more it
// goes to the panic handler (panic_handler.h).
#ifndef CSP_TASK_TASK_H_
#define CSP_TASK_TASK_H_

#include <cstdint>
#include <string>
#include <utility>

#include "csp/select/block.h"
#include "csp/task/task_state.h"

namespace csp {

namespace internal {

[[noreturn]] void ThrowNoTask(const char* call, const char* remedy);
// From any thread: `task` unwinds at its next blocking call, or does not begin.
void RequestCancel(TaskRecord& task);

}  // namespace internal

template <class R>
class JoinEvent;

// Move-only. Dropping it detaches the task, which goes on.
// Thread rules: one thread at a time; the handle may move between threads.
template <class R>
class Task {
 public:
  // No task.
  Task() = default;
  Task(Task&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      Detach();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~Task() { Detach(); }

  // Waits for the task to end and returns its result; the handle is empty afterwards. Throws what
  // the task threw; TaskCancelled if it was cancelled; JoinError if the handle is empty (joined
  // before, detached, moved from) or the caller is the task itself; Cancelled if the *caller* is
  // cancelled, the handle is as before then.
  // Memory ordering: all that the task did is visible afterwards.
  R Join() {
    internal::ResultState<R>& state = NotEmpty("Task::Join");
    state.AwaitDone();
    const Task joined = std::move(*this);  // emptied, whether the result is a value or an exception
    state.Rethrow();
    return state.TakeResult();
  }

  // The same for Select: the result is R (Unit for void), or the exception leaves the Select. Of an
  // empty handle it never is ready, as a nil channel's events. Throws JoinError if the caller is the
  // task itself.
  [[nodiscard]] JoinEvent<R> OnJoin() {
    if (state_ != nullptr && state_->RunsOn(*internal::Parker::Current())) [[unlikely]] {
      internal::ThrowSelfJoin("Task::OnJoin");
    }
    return JoinEvent<R>(*this, state_);
  }

  // True if Join would not wait.
  bool done() const { return state_ != nullptr && state_->done(); }
  // False: no task is behind this handle.
  bool joinable() const { return state_ != nullptr; }

  // Asks the task to end: its next blocking call, or the one that it is in, throws Cancelled, and
  // every one after that; a task that has not begun does not. Commit beats cancel: an operation
  // either has happened or has not. Never suspends; nothing happens if the task has ended. A task may
  // cancel itself: this call returns, and its next blocking call throws. Throws JoinError if the
  // handle is empty.
  void Cancel() {
    internal::RequestCancel(NotEmpty("Task::Cancel", "cancel before you join, or test joinable()"));
  }

  // Lets the task go on alone; the handle is empty afterwards. If the task has failed already, the
  // panic handler is told.
  void Detach() {
    if (state_ != nullptr) std::exchange(state_, nullptr)->Detach();
  }

  // Its number in dumps; 0: no task.
  std::uint64_t number() const { return state_ != nullptr ? state_->number : 0; }

  // For csp/task: takes over the handle's reference.
  explicit Task(internal::ResultState<R>* state) : state_(state) {}

 private:
  friend class JoinEvent<R>;

  internal::ResultState<R>& NotEmpty(const char* call,
                                     const char* remedy = "join a task once") const {
    if (state_ == nullptr) [[unlikely]] {
      internal::ThrowNoTask(call, remedy);
    }
    return *state_;
  }

  internal::ResultState<R>* state_ = nullptr;
};

// Borrows the handle.
template <class R>
class JoinEvent final : public SelectEvent, public internal::TaskState::JoinCase {
 public:
  using Result = internal::Solid<R>;

  JoinEvent(Task<R>& task, internal::ResultState<R>* state)
      : internal::TaskState::JoinCase(state), task_(task) {}

  Result Take() {
    if constexpr (std::is_void_v<R>) {
      TakeResult();
      return {};
    } else {
      return TakeResult();
    }
  }

  R TakeResult() {
    // Emptied whether the result is a value or an exception.
    const Task<R> joined = std::move(task_);
    joined.state_->Rethrow();
    return joined.state_->TakeResult();
  }

 private:
  Task<R>& task_;
};

}  // namespace csp

#endif  // CSP_TASK_TASK_H_
