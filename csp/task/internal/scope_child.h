// A task of a Scope: it has no handle. It tells its scope how it has ended, and that it is gone.
//
// Invariants
//  1. The scope counts a child from before it is made until its destructor, the last that is done
//     on its fiber: closure, locals and result are gone by then. So the frame that the child
//     borrows outlives it.
//  2. Telling the scope that the child is gone is the last touch of the scope.
#ifndef CSP_TASK_INTERNAL_SCOPE_CHILD_H_
#define CSP_TASK_INTERNAL_SCOPE_CHILD_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "csp/task/task_state.h"

namespace csp {

class Scope;

namespace internal {

class ScopeFrame;

// Whose failure it is, for the panic handler.
struct FailureSite {
  Runtime* runtime = nullptr;
  std::uint64_t task = 0;
  const void* spawn_site = nullptr;
};

// A place among those that the scope's limit allows; given back unless taken.
class SlotGuard {
 public:
  explicit SlotGuard(Scope& scope) : scope_(&scope) {}
  ~SlotGuard();
  SlotGuard(const SlotGuard&) = delete;
  SlotGuard& operator=(const SlotGuard&) = delete;

  Scope& Take() { return *std::exchange(scope_, nullptr); }

 private:
  Scope* scope_;
};

class ScopeChild : public TaskState {
 protected:
  explicit ScopeChild(SlotGuard& slot);
  ~ScopeChild() override;

  virtual void Call() = 0;

 private:
  void Invoke() final;
  void Refused(std::exception_ptr& error) noexcept final;

  Scope& scope_;
  bool begun_ = false;
};

template <class F>
class ScopeChildOf final : public ScopeChild {
 public:
  template <class G>
  ScopeChildOf(SlotGuard& slot, G&& closure)
      : ScopeChild(slot), closure_(std::in_place, std::forward<G>(closure)) {}

 private:
  void Call() override { (void)std::invoke(std::move(*closure_)); }
  void DropClosure() noexcept override { closure_.reset(); }

  std::optional<F> closure_;
};

}  // namespace internal
}  // namespace csp

#endif  // CSP_TASK_INTERNAL_SCOPE_CHILD_H_
