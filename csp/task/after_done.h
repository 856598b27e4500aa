// What is to be done once a token has been cancelled, where CancelCallback will not do: a task, and
// a request to stop in the standard's way.
//
//   csp::AfterDone(token, [conn] { conn.Goodbye(); });      // may block: it is a task of its own
//   csp::StopOnDone link(token, library_thread.get_stop_source());
#ifndef CSP_TASK_AFTER_DONE_H_
#define CSP_TASK_AFTER_DONE_H_

#include <stop_token>
#include <utility>

#include "csp/base/atomic.h"
#include "csp/cancel/cancel_callback.h"
#include "csp/cancel/cancel_token.h"
#include "csp/task/go.h"

namespace csp {
namespace internal {

// Invariants
//  1. Two own it: the registration, which ends when the task is started or will never be, and the
//     handle.
//  2. Whoever ends the registration has the task: it starts it or destroys it.
class AfterDoneState final : private CancelHook {
 public:
  // Takes over `task`, which has no handle.
  static AfterDoneState* Make(const CancelToken& token, TaskState* task);

  bool Stop();
  void Release() {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  AfterDoneState(CancelNode::Ref node, TaskState* task) : node_(node.get()), task_(task) {}

  void Call() noexcept override;
  void Dropped() noexcept override;

  Atomic<int> owners_{2};
  CancelNode* const node_;  // kept by the handle's token
  TaskState* const task_;
};

}  // namespace internal

// The handle. Dropping it lets the function be run when the time comes.
// Thread rules: one thread at a time.
class AfterDoneHandle {
 public:
  AfterDoneHandle() = default;
  AfterDoneHandle(AfterDoneHandle&& other) noexcept
      : token_(std::move(other.token_)), state_(std::exchange(other.state_, nullptr)) {}
  AfterDoneHandle& operator=(AfterDoneHandle&& other) noexcept {
    std::swap(token_, other.token_);
    std::swap(state_, other.state_);
    return *this;
  }
  ~AfterDoneHandle() {
    if (state_ != nullptr) state_->Release();
  }

  // True: the function will not be run. False: its task has been started, or Stop has been called
  // before. Does not wait for it. Never suspends.
  bool Stop() { return state_ != nullptr && state_->Stop(); }

  // For AfterDone.
  AfterDoneHandle(CancelToken token, internal::AfterDoneState* state)
      : token_(std::move(token)), state_(state) {}

 private:
  CancelToken token_;
  internal::AfterDoneState* state_ = nullptr;
};

// Runs `f(args...)` as a task once `token` is cancelled, in the runtime of whoever cancels; at once
// if it is. What it throws goes to the panic handler. If nobody can cancel the token any more, the
// function is destroyed without having run; so it is if the runtime is shutting down by then. (A
// function that owns a token of the same source keeps that, and so itself, until it is cancelled or
// stopped.)
// Throws InvalidArgument if `f` is an empty std::function or a null pointer; std::bad_alloc.
template <class F, class... Args>
AfterDoneHandle AfterDone(const CancelToken& token, F&& f, Args&&... args) {
  if constexpr (internal::CheckGo<F, Args...>()) {
    auto* task = internal::MakeTask("AfterDone", /*has_handle=*/false, std::forward<F>(f),
                                    std::forward<Args>(args)...);
    return AfterDoneHandle(token, internal::AfterDoneState::Make(token, task));
  } else {
    return {};
  }
}

// Requests a stop once the token is cancelled, at once if it is, as long as it lives. The request,
// and with it the callbacks of others, runs on the blocking pool, since those may block.
// (The other way round is CancelOnStop.)
class StopOnDone {
 public:
  StopOnDone(const CancelToken& token, std::stop_source stop)
      : callback_(token, Request{std::move(stop)}) {}

 private:
  struct Request {
    std::stop_source stop;
    void operator()() const noexcept;
  };

  CancelCallback<Request> callback_;
};

}  // namespace csp

#endif  // CSP_TASK_AFTER_DONE_H_
