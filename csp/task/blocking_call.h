// Calls that block the thread, out of the way of the fibers.
//
//   std::string text = csp::Blocking([&] { return ReadFile(path); });     // may borrow the frame
//   csp::Task<Ip> ip = csp::BlockingDetached([host] { return Lookup(host); });
//
// A fiber that calls read, getaddrinfo or a database client directly holds its worker for as long;
// through Blocking it holds only a thread of the runtime's pool (up to 256, started as needed).
#ifndef CSP_TASK_BLOCKING_CALL_H_
#define CSP_TASK_BLOCKING_CALL_H_

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "csp/sched/blocking_pool.h"
#include "csp/sched/parker.h"
#include "csp/select/blocking.h"
#include "csp/task/go.h"

namespace csp {
namespace internal {

// A call that a fiber waits for; in its frame.
class BlockingCall : public BlockingPool::Job {
 public:
  // Runs Call on the pool and parks the caller until it is done.
  void RunAndWait();

 protected:
  ~BlockingCall() = default;
  virtual void Call() noexcept = 0;

 private:
  void Run() noexcept final;

  Parker* caller_ = nullptr;
};

bool OnFiber();

// Lets the pool run `task` in place of a fiber. The return address is the spawn site, as SpawnTask's.
void SubmitDetached(TaskState* task);

}  // namespace internal

// Calls `f` on a pool thread and waits for it; only the fiber is suspended. Always waits until f
// has ended, so f may use the caller's frame. Returns what f returns, throws what it throws;
// Cancelled on entry if the caller is cancelled, not later; RuntimeError if there is no thread and
// none can be started. On a plain thread f simply runs there.
// f runs outside of any fiber: csp's blocking verbs in it block the pool thread. What it starts (Go,
// AfterFunc) is started in the caller's runtime. A Local in f is the caller's: f sees and sets what
// the caller does.
template <class F>
std::invoke_result_t<F&> Blocking(F&& f) {
  using R = std::invoke_result_t<F&>;
  static_assert(!std::is_reference_v<R>, "Blocking: return a value or a pointer");
  internal::EnterBlocking();
  if (!internal::OnFiber()) return f();

  class ThisCall final : public internal::BlockingCall {
   public:
    explicit ThisCall(F& f) : f_(f) {}
    std::optional<internal::Solid<R>> result;
    std::exception_ptr error;

   private:
    void Call() noexcept override {
      try {
        result.emplace(internal::Call(f_));
      } catch (...) {
        error = std::current_exception();
      }
    }
    F& f_;
  };

  ThisCall call(f);
  call.RunAndWait();
  if (call.error != nullptr) std::rethrow_exception(call.error);
  if constexpr (!std::is_void_v<R>) return std::move(*call.result);
}

// Calls `f`, which owns its data, on a pool thread, and returns at once. The task may be joined,
// selected on and dropped like any other; a joiner that is cancelled leaves f to run out alone.
// Cancel prevents it only as long as it has not begun. Locals are as in a task started by Go: f
// inherits what is kInherit, and its own are destroyed when it ends. What f starts is started in the caller's
// runtime, which a Run that returns while f still is at work leaves behind for it. Never suspends.
// Throws InvalidArgument if `f` is empty, as Go; RuntimeError if there is no thread and none can be
// started.
template <class F, class... Args>
[[gnu::always_inline]] inline Task<internal::GoResult<F, Args...>> BlockingDetached(
    F&& f, Args&&... args) {
  if constexpr (internal::CheckGo<F, Args...>()) {
    internal::ResultState<internal::GoResult<F, Args...>>* task = internal::MakeTask(
        "BlockingDetached", /*has_handle=*/true, std::forward<F>(f), std::forward<Args>(args)...);
    internal::SubmitDetached(task);
    return Task<internal::GoResult<F, Args...>>(task);
  } else {
    return {};
  }
}

}  // namespace csp

#endif  // CSP_TASK_BLOCKING_CALL_H_
