// Tasks that end before the block does which started them.
//
//   csp::WithScope({.timeout = absl::Seconds(5)}, [&](csp::Scope& s) {
//     s.Go(Fetch, url1, std::ref(page1));      // tasks may use the frame: it waits for them
//     s.Go(Fetch, url2, std::ref(page2));
//   });                                        // joins both; throws what the first to fail threw
//
// WithScope runs its function, with the scope as the caller's current one: if the scope is
// cancelled, by a failure, its deadline, or Cancel, then blocking calls of the function and of all
// tasks of the scope throw Cancelled. At its end it has joined every task, however it ends, and
//   - throws the first failure, of the function or of a task: that one has cancelled the others;
//   - or DeadlineExceeded, if the deadline has cut anything short;
//   - or Cancelled, if the caller itself is cancelled (its task, or a scope around this one);
//   - or returns what the function has returned. A Cancelled that only this scope has raised ends
//     here; if the function then has no result to return: TaskCancelled.
// Later failures go to ScopeOptions::failures, or else to the panic handler.
//
// Scopes nest: what is cancelled is a scope and all within it. A plain Go in a scope is no task of
// it, and lives on.
//
// Thread rules: Go, TryGo, Cancel, token, OnIdle from any fiber or thread, as long as the scope
// lives; a task of the scope may start others in it. Join and destruction by the owner.
// Memory ordering: what a task did is visible after it has been joined.
#ifndef CSP_TASK_SCOPE_H_
#define CSP_TASK_SCOPE_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csp/base/spinlock.h"
#include "csp/cancel/cancel_source.h"
#include "csp/select/cancel_signal.h"
#include "csp/select/case.h"
#include "csp/select/select_event.h"
#include "csp/select/wait_list.h"
#include "csp/task/go.h"
#include "csp/task/internal/scope_child.h"

namespace csp {

// The time of a WithScope, WithTimeout or WithDeadline is over, and something was not done.
class DeadlineExceeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What ends a scope before all of its tasks have ended by themselves.
enum class ScopePolicy : std::uint8_t {
  kAll,           // the first failure
  kAny,           // the first task to end: its failure is thrown; if it returned, nothing is
  kFirstSuccess,  // the first task to return; if none does, the first failure is thrown
  kCollect,       // nothing: every outcome counts. A task's failure is not thrown; see `failures`
};

struct ScopeOptions {
  // As CancelOptions. `token` cancels the scope, too, with its own cause, beside the scopes around
  // it.
  CancelToken token = {};
  absl::Duration timeout = absl::InfiniteDuration();
  absl::Time deadline = absl::InfiniteFuture();
  // How many tasks may run at once; Go waits for its turn. 0: as many as there are.
  std::size_t limit = 0;
  ScopePolicy policy = ScopePolicy::kAll;
  // Gets every failure of a task or of the function, in the order in which they happened, also the
  // one that is thrown. Must live as long as the scope; filled at its end. kCollect needs it.
  std::vector<std::exception_ptr>* failures = nullptr;
};

// The object by itself, without WithScope, cancels its tasks alone, never its owner: for a scope
// that is a member, or that outlives the function which fills it.
class Scope {
 public:
  class IdleEvent;

  // A child of the scopes around it. Throws InvalidArgument if kCollect has no place for failures.
  Scope() : Scope(ScopeOptions{}) {}
  explicit Scope(const ScopeOptions& options);
  // Cancels what still runs, joins it, shielded, and never throws. Failures that no Join has thrown
  // go to the panic handler, unless there is a place for them.
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Starts `f(args...)` as a task of the scope. Its result is dropped. In a scope that has been
  // cancelled nothing begins any more. With a limit this may wait, and throws Cancelled then, having
  // done nothing; without one it never suspends. Otherwise as csp::Go.
  template <class F, class... Args>
  requires internal::NoOptions<F, Args...>
  [[gnu::always_inline]] void Go(F&& f, Args&&... args) {
    if constexpr (internal::CheckGo<F, Args...>()) {
      internal::TaskState* child = NewChild(std::forward<F>(f), std::forward<Args>(args)...);
      if (child != nullptr) internal::SpawnTask(child);
    }
  }
  template <class F, class... Args>
  [[gnu::always_inline]] void Go(const GoOptions& options, F&& f, Args&&... args) {
    if constexpr (internal::CheckGo<F, Args...>()) {
      internal::TaskState* child = NewChild(std::forward<F>(f), std::forward<Args>(args)...);
      if (child != nullptr) internal::SpawnTask(options, child);
    }
  }

  // The same, but false, and nothing has happened, if the limit is reached. Never suspends.
  template <class F, class... Args>
  [[gnu::always_inline]] bool TryGo(F&& f, Args&&... args) {
    if constexpr (internal::CheckGo<F, Args...>()) {
      internal::CheckNotEmpty("Scope::TryGo", f);
      if (!TryTakeSlot()) return false;
      internal::SpawnTask(MakeChild(std::forward<F>(f), std::forward<Args>(args)...));
    }
    return true;
  }

  // Waits until no task is left. Throws the first failure, once; Cancelled if the caller is
  // cancelled, the tasks go on then. New tasks may be started afterwards, unless the scope has been
  // cancelled.
  void Join();

  // Happens when no task is left. No result, and no failure is thrown: see Join.
  [[nodiscard]] IdleEvent OnIdle();

  // Cancels all tasks; inside WithScope also the owner, until the scope ends. As
  // CancelSource::Cancel.
  bool Cancel(const absl::Status& cause = absl::CancelledError()) { return source_.Cancel(cause); }

  // Cancelled with the scope.
  CancelToken token() const { return source_.token(); }

  // How many tasks have been started and have not ended.
  std::size_t running() const;

 private:
  friend class internal::ScopeChild;
  friend class internal::ScopeFrame;
  friend class internal::SlotGuard;
  class SlotCase;

  static constexpr std::uint64_t kIdle = 1;

  struct Failure {
    std::exception_ptr error;
    internal::FailureSite site;
    Failure* next = nullptr;
  };
  struct StopLink;

  template <class F, class... Args>
  internal::TaskState* NewChild(F&& f, Args&&... args) {
    internal::CheckNotEmpty("Scope::Go", f);
    TakeSlot();
    if (source_.cancelled()) {
      NoteCut();
      ChildEnded();  // the last touch
      return nullptr;
    }
    return MakeChild(std::forward<F>(f), std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  internal::TaskState* MakeChild(F&& f, Args&&... args) {
    using Closure =
        decltype(internal::MakeClosure(std::forward<F>(f), std::forward<Args>(args)...));
    internal::SlotGuard slot(*this);
    return new internal::ScopeChildOf<Closure>(
        slot, internal::MakeClosure(std::forward<F>(f), std::forward<Args>(args)...));
  }

  void TakeSlot();
  bool TryTakeSlot();

  // The child's side.
  void ChildReturned();
  void ChildFailed(std::exception_ptr error, const internal::FailureSite& site);
  void ChildEnded();
  void NoteCut() { cut_.store(true, std::memory_order_relaxed); }

  // The owner's.
  void Fail(std::exception_ptr error, const internal::FailureSite& site, bool cancels);
  void AwaitIdle();
  void JoinShielded();
  std::exception_ptr TakeFirstFailure();
  void Settle() noexcept;

  const ScopePolicy policy_;
  const std::size_t limit_;
  std::vector<std::exception_ptr>* const failures_out_;
  CancelSource source_;
  std::unique_ptr<StopLink> stop_link_;
  internal::Atomic<bool> cut_{false};  // something was cancelled before its end

  mutable internal::SpinLock mu_{internal::LockRank::kObject};
  // Under mu_.
  Summary summary_{kIdle};
  WaitList idle_waiters_;
  WaitList slot_waiters_;
  std::size_t running_ = 0;
  bool decided_ = false;   // kAny, kFirstSuccess: one was the first
  bool returned_ = false;  // and has returned
  bool first_taken_ = false;
  Failure* failures_ = nullptr;  // in the order in which they happened
  Failure** failures_end_ = &failures_;
};

// Borrows the scope.
class Scope::IdleEvent final : public SelectEvent, public Case {
 public:
  using Result = Unit;

  explicit IdleEvent(Scope& scope) : Case(&scope.summary_, kIdle), scope_(scope) {}

  bool Poll() override;
  Arming Arm() override;
  void Disarm() noexcept override;
  Result Take() { return {}; }

  const ParkReason& reason() const override;
  const void* object() const override { return &scope_; }

 private:
  Scope& scope_;
};

inline Scope::IdleEvent Scope::OnIdle() { return IdleEvent(*this); }

namespace internal {

// The part of WithScope that does not depend on its function.
class ScopeFrame {
 public:
  explicit ScopeFrame(const ScopeOptions& options);
  ScopeFrame(const ScopeFrame&) = delete;
  ScopeFrame& operator=(const ScopeFrame&) = delete;

  Scope& scope() { return scope_; }

  // The function has thrown; in the handler.
  void NoteThrown();
  // It has returned: waits for the tasks.
  void Join() {
    if (scope_.running() != 0) scope_.AwaitIdle();
  }
  // All else; throws what WithScope throws. `has_result`: the function has returned, or need not.
  void Finish(bool has_result);

 private:
  Parker* const self_;
  Scope scope_;
  std::optional<CancelBinding> binding_;
  bool cancelled_ = false;          // the function, or the join, was
  std::exception_ptr own_failure_;  // the function's
};

template <class F>
decltype(auto) CallInScope(F& f, Scope& scope) {
  if constexpr (std::is_invocable_v<F&, Scope&>) {
    return std::invoke(f, scope);
  } else {
    return std::invoke(f);
  }
}

template <class F>
using InScopeResult = decltype(CallInScope(std::declval<F&>(), std::declval<Scope&>()));

}  // namespace internal

// See above. `f` takes the scope, or nothing.
template <class F>
internal::InScopeResult<F> WithScope(const ScopeOptions& options, F&& f) {
  using R = internal::InScopeResult<F>;
  static_assert(!std::is_reference_v<R>, "WithScope: return a value or a pointer");
  internal::ScopeFrame frame(options);
  if constexpr (std::is_void_v<R>) {
    try {
      internal::CallInScope(f, frame.scope());
      frame.Join();
    } catch (...) {
      frame.NoteThrown();
    }
    frame.Finish(true);
  } else {
    std::optional<R> result;
    try {
      result.emplace(internal::CallInScope(f, frame.scope()));
      frame.Join();
    } catch (...) {
      frame.NoteThrown();
    }
    frame.Finish(result.has_value());
    return std::move(*result);
  }
}

template <class F>
internal::InScopeResult<F> WithScope(F&& f) {
  return WithScope(ScopeOptions{}, std::forward<F>(f));
}

// WithScope with nothing but a limit in time.
template <class F>
internal::InScopeResult<F> WithTimeout(absl::Duration timeout, F&& f) {
  return WithScope({.timeout = timeout}, std::forward<F>(f));
}
template <class F>
internal::InScopeResult<F> WithDeadline(absl::Time deadline, F&& f) {
  return WithScope({.deadline = deadline}, std::forward<F>(f));
}

}  // namespace csp

#endif  // CSP_TASK_SCOPE_H_
