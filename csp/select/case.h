// The interface between Select and whatever can be waited for.
//
// A case is one pending operation: it lives in an event, on its caller's stack. The object waited
// for has a lock of its own and a WaitList; nobody ever holds two such locks. Select calls, always
// on the waiting fiber or thread:
//
//   Poll      take the event now, or change nothing and return false
//   Arm       under the lock: if the event is there, kReady; else link `waiter` and return kArmed.
//             What it throws leaves the wait, which has then done nothing (unless it has just been
//             decided: then it goes through)
//   Disarm    under the lock: unlink `waiter` if it still is linked. Also comes after an Arm that
//             threw
//   Accept    the wait was decided for this case; may refuse, then the select begins anew
//
// and the object, when the event happens, claims under its lock and wakes outside of it: all who
// wait by WakeList::Claim and WakeAll, one of them by WaitList::PopClaimed and Waiter::Wake.
// csp/select/event.h is a complete example.
//
// Poll, Arm and Disarm may not suspend, nor take a second object's lock, nor run user code or
// allocate under their own.
#ifndef CSP_SELECT_CASE_H_
#define CSP_SELECT_CASE_H_

#include <cstdint>

#include "csp/sched/park_reason.h"
#include "csp/select/summary.h"
#include "csp/select/waiter.h"

namespace csp {

enum class Arming { kArmed, kReady };

class Case {
 public:
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  virtual bool Poll() = 0;
  virtual Arming Arm() = 0;
  virtual void Disarm() noexcept = 0;
  virtual bool Accept() { return true; }

  enum class Kind : std::uint8_t {
    kNever,    // a nil channel: takes no part
    kSummary,  // `summary` tells at a glance
    kAsk,      // only Poll can tell
    kLast,     // a moment: like kAsk, but in a Select it loses to any event; of several, the
               // earliest wins, and of equal ones the first written: the other is disarmed then,
               // though it had been claimed
  };

  Kind kind() const { return kind_; }
  const Summary* summary() const { return summary_; }
  std::uint64_t ready_bits() const { return ready_bits_; }

  // Of a kLast: when it comes, on csp's time line; whatever is not known yet comes last.
  virtual std::int64_t moment() const { return INT64_MAX; }

  // What a dump says of whoever waits for this case alone.
  virtual const ParkReason& reason() const = 0;
  virtual const void* object() const = 0;

  Waiter waiter;

 protected:
  // Ready while one of `bits` is set in `summary`.
  Case(const Summary* summary, std::uint64_t bits)
      : kind_(summary != nullptr ? Kind::kSummary : Kind::kNever),
        summary_(summary),
        ready_bits_(bits) {}
  explicit Case(Kind kind) : kind_(kind) {}
  ~Case() = default;

 private:
  const Kind kind_;
  const Summary* summary_ = nullptr;
  std::uint64_t ready_bits_ = 0;
};

}  // namespace csp

#endif  // CSP_SELECT_CASE_H_
