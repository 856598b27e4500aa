// Which signals somebody wants to know of, and whom the handler tells.
//
// Invariants
//  1. csp's handler is installed for a signal while a mailbox is subscribed that wants it; what was
//     installed before comes back afterwards.
//  2. The handler touches a mailbox only while it counts as running, and Unsubscribe returns only
//     after a moment at which none ran; so a mailbox may be destroyed then.
//  3. Slots are never freed: the handler walks their list without a lock. As many are made as there
//     ever were mailboxes at once.
//
// Lock: one mutex for all that subscribe and unsubscribe; the handler takes none.
#ifndef CSP_OS_INTERNAL_SIGNAL_TABLE_H_
#define CSP_OS_INTERNAL_SIGNAL_TABLE_H_

#include <cstdint>

#include "csp/base/atomic.h"

namespace csp::internal {

// Signals, each a bit: 1 << (number - 1).
using SignalSet = std::uint64_t;
inline constexpr int kSignals = 64;

// What has come for one subscriber. An eventfd says that there may be something.
class SignalMailbox {
 public:
  SignalMailbox(int event_fd, SignalSet wanted) : event_fd_(event_fd), wanted_(wanted) {}

  SignalSet wanted() const { return wanted_; }

  // By the handler.
  void Put(int number) noexcept;
  // The lowest signal that has come; -EAGAIN if none has. The eventfd stays readable while another
  // is left.
  int Take();

 private:
  int TakeLowest(SignalSet& left);

  const int event_fd_;
  const SignalSet wanted_;
  Atomic<SignalSet> pending_{0};
};

// 0, or an error's number negated (EINVAL: one that cannot be handled); `failed` is the signal then,
// and nothing has changed.
int Subscribe(SignalMailbox& mailbox, int& failed);

// Does nothing if it is not subscribed.
void Unsubscribe(SignalMailbox& mailbox);

}  // namespace csp::internal

#endif  // CSP_OS_INTERNAL_SIGNAL_TABLE_H_
