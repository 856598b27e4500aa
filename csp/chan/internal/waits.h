// The plain verbs of a channel, Recv and Send: one try, or a wait that the channel alone decides.
//
// Run is inlined into the caller: a frame less between the user's code and the switch is a
// mispredicted return less (worker.h).
#ifndef CSP_CHAN_INTERNAL_WAITS_H_
#define CSP_CHAN_INTERNAL_WAITS_H_

#include <memory>
#include <optional>

#include "csp/chan/internal/core.h"
#include "csp/select/blocking.h"
#include "csp/select/direct_wait.h"

namespace csp::internal {

inline constexpr ParkReason kSendReason{"Send", "chan"};
inline constexpr ParkReason kRecvReason{"Recv", "chan"};

template <class T>
class RecvWait final : public DirectWait {
 public:
  // Receives straight into `out`, which is empty: T may be large, and stacks are small.
  // Throws Cancelled.
  RecvWait(Core<T>& core, std::optional<T>& out)
      : DirectWait(EnterBlocking(), kRecvReason, &core), core_(core), out_(out) {
    waiter().slot = &out;
  }

  // Afterwards `out` is what was received, empty if the channel is closed and drained.
  [[gnu::always_inline]] void Run() {
    while (core_.RecvOr(self()->thread(), out_, [this] { return Begin(); }) == Passed::kNo) {
      if (Await()) return;
    }
  }

 private:
  bool Withdraw(Waiter& waiter) noexcept override { return core_.DisarmRecv(waiter); }

  Core<T>& core_;
  std::optional<T>& out_;
};

template <class T>
class SendWait final : public DirectWait {
 public:
  // Throws Cancelled.
  SendWait(Core<T>& core, T& value)
      : DirectWait(EnterBlocking(), kSendReason, &core), core_(core), value_(value) {
    waiter().slot = std::addressof(value);
  }

  // False if the channel is closed: `value` is untouched then.
  [[gnu::always_inline]] bool Run() {
    for (;;) {
      const Passed passed = core_.SendOr(self()->thread(), value_, [this] { return Begin(); });
      if (passed != Passed::kNo) return passed == Passed::kYes;
      if (Await()) return waiter().ok;
    }
  }

 private:
  bool Withdraw(Waiter& waiter) noexcept override { return core_.DisarmSend(waiter); }

  Core<T>& core_;
  T& value_;
};

}  // namespace csp::internal

#endif  // CSP_CHAN_INTERNAL_WAITS_H_
