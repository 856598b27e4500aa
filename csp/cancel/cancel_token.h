// Whether something has been cancelled, seen by those whom it concerns.
//
//   void Work(const csp::CancelToken& token) {
//     while (!token.cancelled()) Step();                 // asked now and then
//     csp::Select(in.OnRecv()    >> [](std::optional<Job> job) { … },
//                 token.OnDone() >> [] { … });           // waited for
//     Log(token.cause());
//   }
//
// A token is made by a CancelSource (cancel_source.h), which is the side that cancels. Blocking
// calls do not need one: those of a task that is cancelled, or of a Scope, throw Cancelled by
// themselves. Tokens are for code that computes, for a wait that shall go on otherwise, and for
// what is to be told of a cancellation that is not the caller's own.
//
//   verb     event     try
//   Wait     OnDone    cancelled
//
// Thread rules: like a std::shared_ptr. All const members from any fiber or thread.
// Memory ordering: what happened before Cancel is visible to whoever sees the token cancelled, by
// whichever member.
// Cost: `cancelled` is a load. A copy counts a reference.
#ifndef CSP_CANCEL_CANCEL_TOKEN_H_
#define CSP_CANCEL_CANCEL_TOKEN_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csp/cancel/internal/cancel_node.h"
#include "csp/select/select_event.h"

namespace csp {

class CancelToken {
 public:
  class DoneEvent;

  // Can never be cancelled.
  CancelToken() = default;

  // False: made by the default constructor, or moved from.
  bool can_be_cancelled() const { return static_cast<bool>(node_); }

  // Stays true.
  bool cancelled() const { return node_ && node_->done(); }

  // Why: what Cancel was given, or DeadlineExceeded; that of the source which was the first of all
  // above. OK while the token is not cancelled.
  absl::Status cause() const { return node_ ? node_->cause() : absl::OkStatus(); }

  // When it will be cancelled at the latest: the earliest deadline of its source and all above.
  // absl::InfiniteFuture() if there is none.
  absl::Time deadline() const {
    return node_ ? internal::ToTime(node_->deadline()) : absl::InfiniteFuture();
  }

  // Blocks until the token is cancelled. Throws Cancelled if the caller is, also by this very token;
  // NoLiveCase if the token can never be.
  void Wait() const;

  // The same for Select; no result. Of a token that can never be cancelled: never ready. Of the
  // caller's own scope: this case comes instead of Cancelled.
  [[nodiscard]] DoneEvent OnDone() const;

  // True if they are of one source.
  friend bool operator==(const CancelToken& a, const CancelToken& b) {
    return a.node_.get() == b.node_.get();
  }

  // For csp itself.
  explicit CancelToken(internal::CancelNode::Ref node) : node_(std::move(node)) {}
  const internal::CancelNode::Ref& node() const { return node_; }

 private:
  internal::CancelNode::Ref node_;
};

// Owns a reference: the token may go.
class CancelToken::DoneEvent final : public SelectEvent, public internal::CancelNode::DoneCase {
 public:
  using Result = Unit;

  explicit DoneEvent(const CancelToken& token) : DoneCase(token.node_) {}

  Result Take() { return {}; }
};

inline CancelToken::DoneEvent CancelToken::OnDone() const { return DoneEvent(*this); }

}  // namespace csp

#endif  // CSP_CANCEL_CANCEL_TOKEN_H_
