// A node of the tree of cancellation: what a source, its tokens and its children share.
//
// Invariants
//  1. A node is set once, under its lock, and stays so. Its cause is written before, and never
//     again: whoever has seen `done` may read it without the lock.
//  2. References: each source's and token's, each child's (to its parent), each callback's that
//     keeps one, and a canceller's while it is at work. A parent's list of children owns nothing:
//     a child leaves it, under the parent's lock, before it is destroyed, and a canceller that
//     takes a child from it takes a reference, unless the last one has gone.
//  3. A child whose parent is set is set, or about to be by whoever set the parent: a child linked
//     under the lock is found by the canceller, one that comes later sees the mark.
//  4. The canceller first sets the whole subtree, then wakes, then calls the callbacks, with no
//     lock held. A node is set by one canceller only, and its callbacks are called by that one
//     alone, one after the other, in the order of registration.
//  5. Nothing here recurses: trees are walked, and chains destroyed, in loops. (A chain may be as
//     deep as memory allows, and a fiber's stack is small.)
//
// Lock: the signal's `mu_` guards the lists and `running_`. Never two nodes' at once.
#ifndef CSP_CANCEL_INTERNAL_CANCEL_NODE_H_
#define CSP_CANCEL_INTERNAL_CANCEL_NODE_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "csp/base/atomic.h"
#include "csp/base/clock.h"
#include "csp/base/intrusive_list.h"
#include "csp/select/cancel_signal.h"
#include "csp/select/case.h"
#include "csp/select/wait_list.h"

namespace csp::internal {

class CancelNode;
class Cancellation;
class DeadlineTimer;

// A function to call when the node is set. Whoever owns it calls Unregister before it goes.
class CancelHook : public ListNode<CancelHook> {
 public:
  CancelHook() = default;
  CancelHook(const CancelHook&) = delete;
  CancelHook& operator=(const CancelHook&) = delete;

  // On whatever fiber or thread cancels; does not suspend. It may unregister and destroy the hook.
  virtual void Call() noexcept = 0;

  // The node goes without ever having been set: the hook is out of it.
  virtual void Dropped() noexcept {}

 protected:
  ~CancelHook() = default;
};

class CancelNode final : public CancelSignal, public ListNode<CancelNode> {
 public:
  // A counted reference, or none.
  class Ref {
   public:
    Ref() = default;
    // Takes over a reference.
    explicit Ref(CancelNode* node) : node_(node) {}
    Ref(const Ref& other) : node_(other.node_) {
      if (node_ != nullptr) node_->AddReference();
    }
    Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }
    ~Ref() {
      if (node_ != nullptr) Release(node_);
    }

    // Gives the reference to the caller.
    CancelNode* Forget() { return std::exchange(node_, nullptr); }

    CancelNode* get() const { return node_; }
    CancelNode* operator->() const { return node_; }
    CancelNode& operator*() const { return *node_; }
    explicit operator bool() const { return node_ != nullptr; }

   private:
    CancelNode* node_ = nullptr;
  };

  // A child of `parent`, or a root if that is none. It is set at once if the parent is, or if
  // `deadline` has come; and later when that comes, with the cause `at_deadline`. Throws
  // std::bad_alloc, and RuntimeError if there is no runtime to keep its timer.
  static Ref Make(Ref parent, std::int64_t deadline = kForever,
                  absl::Status at_deadline = absl::OkStatus());

  // Sets the node and all below; OK stands for absl::CancelledError(). False, and nothing happens:
  // it was set before. Never suspends.
  bool Cancel(const absl::Status& cause);

  // What it was set with; OK while it is not.
  absl::Status cause() const { return done() ? cause_ : absl::OkStatus(); }

  // The earliest of its own and of all above; kForever: none.
  std::int64_t deadline() const { return deadline_; }
  // The cause when that comes: that one's own, too.
  const absl::Status& at_deadline() const { return at_deadline_; }

  // Calls `hook` once the node is set; false, and it is not registered, if it is set.
  bool Register(CancelHook& hook);
  // True: `hook` was registered and will never be called. False: it has been called, or is being
  // called by the caller itself. If somebody else is calling it just now, waits for that.
  bool Unregister(CancelHook& hook);

  // A reference, unless the last has gone. The memory must be there.
  bool TryAddReference();
  void AddReference() { references_.fetch_add(1, std::memory_order_relaxed); }
  static void Release(CancelNode* node);

  class DoneCase;

 private:
  friend class Cancellation;

  CancelNode(Ref parent, std::int64_t deadline, const absl::Status& at_deadline);
  ~CancelNode();

  static CancelNode* Destroy(CancelNode* node);
  bool Set(const absl::Status& cause, Cancellation& work);
  void CallHooks();

  Atomic<std::uint32_t> references_{1};
  Ref parent_;
  const std::int64_t deadline_;
  const absl::Status at_deadline_;
  DeadlineTimer* timer_ = nullptr;  // constant once the node is linked
  absl::Status cause_;

  // Under mu_.
  WaitList waiters_;
  IntrusiveList<CancelNode> children_;
  IntrusiveList<CancelHook> hooks_;
  const void* runner_ = nullptr;  // who calls hooks

  Atomic<const CancelHook*> running_{nullptr};  // is being called; written under mu_

  // The canceller's who took it from its parent's list, and his who set it.
  CancelNode* next_to_set_ = nullptr;
  CancelNode* next_to_finish_ = nullptr;
};

// A wait until the node is set. With no node: never.
class CancelNode::DoneCase : public Case {
 public:
  explicit DoneCase(Ref node)
      : Case(node ? &node->summary() : nullptr, kDone), node_(std::move(node)) {}

  bool Poll() final;
  Arming Arm() final;
  void Disarm() noexcept final;

  const ParkReason& reason() const final;
  const void* object() const final { return node_.get(); }

 protected:
  ~DoneCase() = default;

 private:
  const Ref node_;
};

}  // namespace csp::internal

#endif  // CSP_CANCEL_INTERNAL_CANCEL_NODE_H_
