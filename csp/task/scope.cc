// Invariants
//  1. `running_` counts the children from before they are made until they are gone; `summary_` says
//     kIdle exactly while it is 0. Both change under `mu_`. Who has seen the scope idle under the
//     lock may destroy it: whoever made it so has left.
//  2. A child that ends while somebody waits for a place hands its place over, under `mu_`:
//     `running_` stays, and the claimed waiter owns the place.
//  3. The first failure is the first to be linked, under `mu_`, and it is linked before it cancels
//     anything. So no failure that it causes comes before it.
#include "csp/task/scope.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

#include "csp/base/panic.h"
#include "csp/cancel/cancel_callback.h"
#include "csp/sched/internal/fiber.h"
#include "csp/sched/runtime.h"
#include "csp/select/block.h"
#include "csp/select/shield.h"
#include "csp/task/panic_handler.h"
#include "csp/time/time.h"

namespace csp {
namespace {

CancelToken CurrentToken() {
  const internal::CancelBinding* binding = internal::Parker::Current()->words.binding;
  if (binding == nullptr) return CancelToken();
  // There are no other signals than nodes.
  auto& node = static_cast<internal::CancelNode&>(binding->signal());
  node.AddReference();
  return CancelToken(internal::CancelNode::Ref(&node));
}

CancelOptions OptionsFor(const ScopeOptions& options) {
  CancelOptions result;
  result.parent = CurrentToken();
  result.deadline = options.deadline;
  if (options.timeout != absl::InfiniteDuration()) {
    result.deadline = std::min(result.deadline, Now() + options.timeout);
  }
  // The scope's timer and the token come at the same time then, and must say the same.
  if (options.token.deadline() < result.deadline) {
    result.deadline = options.token.deadline();
    result.deadline_cause = options.token.node()->at_deadline();
  }
  return result;
}

}  // namespace

// The second way in which a scope is cancelled.
struct Scope::StopLink {
  struct Cancel {
    CancelToken from;
    CancelToken to;
    void operator()() const noexcept { to.node()->Cancel(from.cause()); }
  };

  StopLink(const CancelToken& from, const CancelToken& to) : callback(from, Cancel{from, to}) {}

  CancelCallback<Cancel> callback;
};

// A wait for a place among those that the limit allows; takes it.
class Scope::SlotCase final : public Case {
 public:
  explicit SlotCase(Scope& scope) : Case(Kind::kAsk), scope_(scope) {}

  bool Poll() override { return scope_.TryTakeSlot(); }
  Arming Arm() override {
    const std::lock_guard lock(scope_.mu_);
    if (scope_.running_ < scope_.limit_) return Arming::kReady;
    scope_.slot_waiters_.PushBack(waiter);
    return Arming::kArmed;
  }
  void Disarm() noexcept override {
    const std::lock_guard lock(scope_.mu_);
    scope_.slot_waiters_.Remove(waiter);
  }
  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Go", "Scope"};
    return kReason;
  }
  const void* object() const override { return &scope_; }

 private:
  Scope& scope_;
};

Scope::Scope(const ScopeOptions& options)
    : policy_(options.policy),
      limit_(options.limit != 0 ? options.limit : SIZE_MAX),
      failures_out_(options.failures),
      source_(OptionsFor(options)) {
  if (policy_ == ScopePolicy::kCollect && failures_out_ == nullptr) {
    throw InvalidArgument(
        "Scope: ScopePolicy::kCollect throws no failure; give ScopeOptions::failures, where they "
        "are to go");
  }
  if (options.token.can_be_cancelled()) {
    stop_link_ = std::make_unique<StopLink>(options.token, source_.token());
  }
}

Scope::~Scope() {
  stop_link_.reset();
  if (running() != 0) Cancel();
  JoinShielded();
  Settle();
}

std::size_t Scope::running() const {
  const std::lock_guard lock(mu_);
  return running_;
}

void Scope::TakeSlot() {
  if (TryTakeSlot()) return;
  SlotCase slot(*this);
  Block(slot);
}

bool Scope::TryTakeSlot() {
  const std::lock_guard lock(mu_);
  if (running_ >= limit_) return false;
  if (running_++ == 0) summary_.Set(0);
  return true;
}

void Scope::ChildEnded() {
  Waiter* next;
  WakeList wake;
  {
    const std::lock_guard lock(mu_);
    next = slot_waiters_.PopClaimed();
    if (next == nullptr && --running_ == 0) {
      summary_.Set(kIdle);
      wake.Claim(idle_waiters_, true);
    }
  }
  if (next != nullptr) next->Wake();
  wake.WakeAll();
}

void Scope::ChildReturned() {
  if (policy_ != ScopePolicy::kAny && policy_ != ScopePolicy::kFirstSuccess) return;
  {
    const std::lock_guard lock(mu_);
    if (decided_) return;
    decided_ = returned_ = true;
  }
  Cancel(absl::CancelledError("another task of the scope was the first to return"));
}

void Scope::ChildFailed(std::exception_ptr error, const internal::FailureSite& site) {
  Fail(std::move(error), site, policy_ == ScopePolicy::kAll || policy_ == ScopePolicy::kAny);
}

void Scope::Fail(std::exception_ptr error, const internal::FailureSite& site, bool cancels) {
  auto* failure = new Failure{std::move(error), site};
  {
    const std::lock_guard lock(mu_);
    *failures_end_ = failure;
    failures_end_ = &failure->next;
    if (cancels) decided_ = true;
  }
  if (cancels) Cancel(absl::AbortedError("a task of the scope has failed"));
}

void Scope::AwaitIdle() {
  IdleEvent idle(*this);
  Block(idle);
}

void Scope::JoinShielded() {
  const Shield shield;
  AwaitIdle();
}

void Scope::Join() {
  AwaitIdle();
  if (std::exception_ptr error = TakeFirstFailure()) std::rethrow_exception(std::move(error));
}

// With no task left. Null: there is none to be thrown.
std::exception_ptr Scope::TakeFirstFailure() {
  const std::lock_guard lock(mu_);
  if (failures_ == nullptr || first_taken_ || returned_ || policy_ == ScopePolicy::kCollect) {
    return nullptr;
  }
  first_taken_ = true;
  return failures_->error;
}

// With no task left, and no lock: tells of the failures that have not been thrown. A loser's, after
// another has been the first to return, is of no interest.
void Scope::Settle() noexcept {
  bool thrown = first_taken_;
  while (Failure* failure = failures_) {
    failures_ = failure->next;
    const std::unique_ptr<Failure> owned(failure);
    if (failures_out_ != nullptr) {
      failures_out_->push_back(std::move(owned->error));
    } else if (!std::exchange(thrown, false) && !returned_) {
      internal::ReportPanic(owned->site.runtime, owned->site.task, nullptr, owned->site.spawn_site,
                            std::move(owned->error));
    }
  }
  failures_end_ = &failures_;
}

bool Scope::IdleEvent::Poll() {
  const std::lock_guard lock(scope_.mu_);
  return scope_.running_ == 0;
}

Arming Scope::IdleEvent::Arm() {
  const std::lock_guard lock(scope_.mu_);
  if (scope_.running_ == 0) return Arming::kReady;
  scope_.idle_waiters_.PushBack(waiter);
  return Arming::kArmed;
}

void Scope::IdleEvent::Disarm() noexcept {
  const std::lock_guard lock(scope_.mu_);
  scope_.idle_waiters_.Remove(waiter);
}

const ParkReason& Scope::IdleEvent::reason() const {
  static constexpr ParkReason kReason{"Join", "Scope"};
  return kReason;
}

namespace internal {

ScopeChild::ScopeChild(SlotGuard& slot) : TaskState(/*has_handle=*/false), scope_(slot.Take()) {}

ScopeChild::~ScopeChild() {
  if (!begun_) scope_.NoteCut();
  scope_.ChildEnded();
}

void ScopeChild::Invoke() {
  const CancelToken token = scope_.token();
  const CancelBinding binding(*token.node(), Parker::Current());
  if (token.cancelled()) return;  // before it began
  begun_ = true;
  std::exception_ptr error;
  try {
    Call();
  } catch (const Cancelled&) {
    return scope_.NoteCut();
  } catch (...) {
    error = std::current_exception();
  }
  if (error != nullptr) {
    scope_.ChildFailed(std::move(error), {runtime, number, spawn_site});
  } else {
    scope_.ChildReturned();
  }
}

// There was no stack to run it on.
void ScopeChild::Refused(std::exception_ptr& error) noexcept {
  scope_.ChildFailed(std::exchange(error, nullptr), {runtime, number, spawn_site});
}

SlotGuard::~SlotGuard() {
  if (scope_ != nullptr) scope_->ChildEnded();
}

ScopeFrame::ScopeFrame(const ScopeOptions& options) : self_(Parker::Current()), scope_(options) {
  binding_.emplace(*scope_.source_.token().node(), self_);
}

void ScopeFrame::NoteThrown() {
  try {
    throw;
  } catch (const Cancelled&) {
    cancelled_ = true;
    // Whoever has raised it: the tasks go, too.
    scope_.Cancel(absl::CancelledError("the scope's function was cancelled"));
  } catch (...) {
    own_failure_ = std::current_exception();
    const Fiber* fiber = Fiber::Current();
    scope_.Fail(
        own_failure_,
        {Runtime::OfCaller(), fiber != nullptr ? fiber->number() : 0, __builtin_return_address(0)},
        /*cancels=*/true);
  }
}

void ScopeFrame::Finish(bool has_result) {
  scope_.JoinShielded();
  scope_.stop_link_.reset();
  const absl::Status cause = scope_.token().cause();
  binding_.reset();
  std::exception_ptr error = scope_.TakeFirstFailure();
  // The policy may pass over failures of tasks, but without this one there is nothing to return.
  if (error == nullptr) error = own_failure_;
  scope_.Settle();
  if (error != nullptr) std::rethrow_exception(error);
  if (cancelled_ || scope_.cut_.load(std::memory_order_relaxed)) {
    // By the task, or by an outer scope, since this one's binding has gone?
    ThrowIfCancelled(*self_);
    if (absl::IsDeadlineExceeded(cause)) {
      throw DeadlineExceeded("WithScope: " + std::string(cause.message()));
    }
  }
  if (!has_result) {
    throw TaskCancelled("WithScope: the scope was cancelled before its function returned (" +
                        cause.ToString() + ")");
  }
}

}  // namespace internal
}  // namespace csp
