// The side that cancels: a node of a tree.
//
//   csp::CancelSource all;
//   csp::CancelSource request({.parent = all.token(), .timeout = absl::Seconds(2)});
//   Start(request.token());
//   …
//   request.Cancel(absl::CancelledError("the client has gone"));   // this one
//   all.Cancel();                                                  // and with it all below
//
// A source is cancelled when Cancel is called, when its deadline comes, or when its parent is
// cancelled, whichever is first; that one's cause is kept. What is above is not touched.
//
// Dropping a source cancels nothing. Its tokens go on following its parent and its deadline; once
// nobody has any, the node leaves the tree and its timer is stopped: there is nothing to call "in
// any case", as Go's cancel functions must be.
//
// A deadline is kept by the runtime in which the source was made, and does not come if that ends
// before.
//
// Thread rules: all members but assignment from any fiber or thread.
// Memory ordering: as CancelToken.
#ifndef CSP_CANCEL_CANCEL_SOURCE_H_
#define CSP_CANCEL_CANCEL_SOURCE_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csp/cancel/cancel_token.h"

namespace csp {

struct CancelOptions {
  // Cancelled with it; the default is a tree of its own.
  CancelToken parent = {};
  // Both may be given: the earlier counts. Zero, negative, or past: cancelled at once.
  absl::Duration timeout = absl::InfiniteDuration();
  absl::Time deadline = absl::InfiniteFuture();
  // The cause when the deadline comes; OK stands for DeadlineExceeded.
  absl::Status deadline_cause = absl::OkStatus();
};

class CancelSource {
 public:
  // A tree of its own.
  CancelSource() : CancelSource(CancelToken()) {}
  // A child of `parent`. (Of the default token: a tree of its own.)
  explicit CancelSource(const CancelToken& parent);
  // Throws RuntimeError if a deadline is given, and the current runtime cannot keep it.
  explicit CancelSource(const CancelOptions& options);

  CancelSource(CancelSource&&) noexcept = default;
  CancelSource& operator=(CancelSource&&) noexcept = default;

  // Cancels its tokens, and all sources below: what is bound to them is ended, who waits for them
  // is woken, callbacks are called, here, before it returns. True: this call was the first, and
  // `cause` stands; false: nothing has happened. OK as the cause stands for absl::CancelledError().
  // Never suspends, never throws; may be called under a lock, if no callback takes that.
  bool Cancel(const absl::Status& cause = absl::CancelledError()) const;

  CancelToken token() const { return CancelToken(node_); }

  bool cancelled() const { return node_ && node_->done(); }

 private:
  internal::CancelNode::Ref node_;  // none: moved from
};

}  // namespace csp

#endif  // CSP_CANCEL_CANCEL_SOURCE_H_
