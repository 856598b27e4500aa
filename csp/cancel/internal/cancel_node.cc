#include "csp/cancel/internal/cancel_node.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

#include "csp/base/thread_context.h"
#include "csp/cancel/internal/deadline_timer.h"

namespace csp::internal {
namespace {

// Who calls a hook: his thread, since a hook does not suspend. (In a model they all are on one.)
const void* ThisThread() {
  ThreadContext* thread = CurrentThread();
  return kModelled ? static_cast<const void*>(thread->parker) : thread;
}

}  // namespace

// What one call of Cancel has in hand.
class Cancellation {
 public:
  // Sets `root` and all below it with `cause`; false if it was set before.
  bool SetAll(CancelNode& root, const absl::Status& cause) {
    root.AddReference();
    if (!root.Set(cause, *this)) {
      CancelNode::Release(&root);
      return false;
    }
    NoteSet(&root);
    while (CancelNode* node = to_set_) {
      to_set_ = node->next_to_set_;
      if (node->Set(cause, *this)) {
        NoteSet(node);
      } else {
        CancelNode::Release(node);  // somebody else was quicker
      }
    }
    return true;
  }

  // The rest, with no lock held.
  void Finish() {
    sweep_.Flush();
    wake_.WakeAll();
    while (CancelNode* node = to_finish_) {
      to_finish_ = node->next_to_finish_;
      node->CallHooks();
      CancelNode::Release(node);
    }
  }

  // Under the lock of the parent, which does not have the child in its list any more.
  void AddChild(CancelNode* child) {
    if (!child->TryAddReference()) return;  // on its way out
    child->next_to_set_ = to_set_;
    to_set_ = child;
  }

  CancelSweep& sweep() { return sweep_; }
  WakeList& wake() { return wake_; }

 private:
  // In the order in which they were set.
  void NoteSet(CancelNode* node) {
    node->next_to_finish_ = nullptr;
    *end_ = node;
    end_ = &node->next_to_finish_;
  }

  CancelSweep sweep_;
  WakeList wake_;
  CancelNode* to_set_ = nullptr;  // each with a reference
  CancelNode* to_finish_ = nullptr;
  CancelNode** end_ = &to_finish_;
};

CancelNode::CancelNode(Ref parent, std::int64_t deadline, const absl::Status& at_deadline)
    : parent_(std::move(parent)),
      deadline_(parent_ ? std::min(deadline, parent_->deadline_) : deadline),
      at_deadline_(parent_ && parent_->deadline_ == deadline_ ? parent_->at_deadline_
                                                              : at_deadline) {}

CancelNode::~CancelNode() = default;

CancelNode::Ref CancelNode::Make(Ref parent, std::int64_t deadline, absl::Status at_deadline) {
  if (at_deadline.ok()) at_deadline = absl::DeadlineExceededError("the deadline has passed");
  // One timer a path: where a node above comes no later, its timer does for both.
  const bool own_deadline = deadline < (parent ? parent->deadline_ : kForever);
  const bool has_passed = deadline != kForever && deadline <= NowNanos();
  Ref node(new CancelNode(std::move(parent), deadline, at_deadline));
  if (own_deadline && !has_passed) {
    node->timer_ = new DeadlineTimer(*node);
    node->timer_->Start(deadline);
  }
  if (CancelNode* above = node->parent_.get()) {
    bool late;
    {
      const std::lock_guard lock(above->mu_);
      late = above->done();
      if (!late) above->children_.PushBack(node.get());
    }
    if (late) node->Cancel(above->cause_);
  }
  if (has_passed) node->Cancel(node->at_deadline_);  // unless what is above was the first
  return node;
}

bool CancelNode::TryAddReference() {
  std::uint32_t count = references_.load(std::memory_order_relaxed);
  while (count != 0) {
    if (references_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void CancelNode::Release(CancelNode* node) {
  while (node != nullptr && node->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    node = Destroy(node);
  }
}

// Returns the parent, whose reference the caller takes over.
CancelNode* CancelNode::Destroy(CancelNode* node) {
  CancelNode* parent = std::exchange(node->parent_, Ref()).Forget();
  if (parent != nullptr) {
    const std::lock_guard lock(parent->mu_);
    parent->children_.Remove(node);
  }
  if (node->timer_ != nullptr) node->timer_->Leave();
  // Nobody can reach the node any more.
  while (CancelHook* hook = node->hooks_.PopFront()) hook->Dropped();
  delete node;
  return parent;
}

bool CancelNode::Cancel(const absl::Status& cause) {
  Cancellation work;
  if (!work.SetAll(*this, cause.ok() ? absl::CancelledError() : cause)) return false;
  work.Finish();
  return true;
}

bool CancelNode::Set(const absl::Status& cause, Cancellation& work) {
  bool first = true;
  for (;;) {
    {
      const std::lock_guard lock(mu_);
      if (first) {
        if (done()) return false;
        cause_ = cause;
        SetDone();
        work.wake().Claim(waiters_, true);
        while (CancelNode* child = children_.PopFront()) work.AddChild(child);
        first = false;
      }
      if (MarkBound(work.sweep())) return true;
    }
    work.sweep().Flush();
  }
}

void CancelNode::CallHooks() {
  if (timer_ != nullptr) timer_->Stop();
  for (;;) {
    CancelHook* hook;
    {
      const std::lock_guard lock(mu_);
      hook = hooks_.PopFront();
      if (hook != nullptr) runner_ = ThisThread();
      running_.store(hook, std::memory_order_release);  // of the one before: pairs with Unregister
    }
    if (hook == nullptr) return;
    hook->Call();  // it may be gone afterwards
  }
}

bool CancelNode::Register(CancelHook& hook) {
  const std::lock_guard lock(mu_);
  if (done()) return false;
  hooks_.PushBack(&hook);
  return true;
}

bool CancelNode::Unregister(CancelHook& hook) {
  {
    const std::lock_guard lock(mu_);
    if (hook.linked()) {
      hooks_.Remove(&hook);
      return true;
    }
    if (running_.load(std::memory_order_relaxed) == &hook && runner_ == ThisThread()) return false;
  }
  constexpr int kSpinsBeforeYield = 200;
  for (int spins = 0; running_.load(std::memory_order_acquire) == &hook; ++spins) {
    if (spins < kSpinsBeforeYield) {
      CpuRelax();
    } else {
      std::this_thread::yield();  // it may not suspend: this is no blocking call
    }
  }
  return false;
}

bool CancelNode::DoneCase::Poll() { return node_->done(); }

Arming CancelNode::DoneCase::Arm() {
  const std::lock_guard lock(node_->mu_);
  if (node_->done()) return Arming::kReady;
  node_->waiters_.PushBack(waiter);
  return Arming::kArmed;
}

void CancelNode::DoneCase::Disarm() noexcept {
  const std::lock_guard lock(node_->mu_);
  node_->waiters_.Remove(waiter);
}

const ParkReason& CancelNode::DoneCase::reason() const {
  static constexpr ParkReason kReason{"Wait", "token"};
  return kReason;
}

}  // namespace csp::internal
