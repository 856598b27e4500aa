// A function that is called when a token is cancelled.
//
//   csp::CancelCallback wake(token, [&]() noexcept { device.Interrupt(); });
//   device.Read();                                // not csp's: it cannot be cancelled otherwise
//   if (!wake.Stop()) …                           // it has been called
//
// The function is called once, by whoever cancels, on his fiber or thread, with no lock of csp
// held; if the token is cancelled already, by the constructor. It is noexcept and must not suspend:
// from TryX, Close, Set, Go and Cancel there is much to choose. To run something that blocks, use
// AfterDone (csp/task). Callbacks of one source are called in the order of their registration,
// those of children after their parent's.
//
// Thread rules: a callback has one owner; Stop and destruction by that one, also in the function.
// Memory ordering: what happened before Cancel is visible to the function; what the function did,
// after a Stop that says false (but for the Stop in the function itself).
// Cost: an object of its own, no allocation.
#ifndef CSP_CANCEL_CANCEL_CALLBACK_H_
#define CSP_CANCEL_CANCEL_CALLBACK_H_

#include <type_traits>
#include <utility>

#include "csp/cancel/cancel_token.h"

namespace csp {

template <class F>
class CancelCallback final : private internal::CancelHook {
  static_assert(std::is_nothrow_invocable_v<F&>,
                "CancelCallback: the function takes nothing and is noexcept: nobody is there to "
                "catch what it throws");

 public:
  // clang-format off
  template <class G>
  requires std::is_constructible_v<F, G>
  CancelCallback(const CancelToken& token, G&& function)
      : function_(std::forward<G>(function)), node_(token.node()) {
    if (node_ && !node_->Register(*this)) function_();
  }
  // clang-format on
  ~CancelCallback() { Stop(); }

  // True: the function was not called and will not be. False: it has been called, or this is called
  // by it; if it is being called on another thread just now, waits until it has returned. With a
  // token that can never be cancelled: true. Does not suspend. A second Stop says what the first
  // said.
  bool Stop() {
    if (node_) {
      stopped_ = node_->Unregister(*this);
      node_ = {};
    }
    return stopped_;
  }

 private:
  void Call() noexcept override { function_(); }

  F function_;
  internal::CancelNode::Ref node_;
  bool stopped_ = true;
};

template <class F>
CancelCallback(const CancelToken&, F) -> CancelCallback<F>;

}  // namespace csp

#endif  // CSP_CANCEL_CANCEL_CALLBACK_H_
