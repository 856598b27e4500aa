// A Parker is whoever can wait: a fiber, or a plain thread through its record. Everything above
// the scheduler parks and unparks by this type and never asks which of the two it is.
//
// Invariants
//  1. One Park consumes exactly one Unpark. The Unpark may come first, at any time after the
//     attempt that it answers was published; Park then returns without waiting.
//  2. Never two Unparks for one Park: whoever unparks has claimed the attempt (csp/select
//     attempt.h) or is otherwise the only one entitled to.
//  3. The Unpark is the waker's last touch: after it the waiter's frame may be gone.
//  4. A Parker's memory is type-stable: it never becomes anything else while the process lives, so
//     a late compare-and-swap on its words fails instead of faulting. (A fiber's may be given back
//     for a time, see fiber_pool.h; the generations of its attempts go on.)
//
// Memory ordering: what happens before Unpark is visible after the Park that it ends.
#ifndef CSP_SCHED_PARKER_H_
#define CSP_SCHED_PARKER_H_

#include <atomic>
#include <cstdint>

#include "csp/base/atomic.h"
#include "csp/base/thread_context.h"
#include "csp/sched/internal/switch.h"
#include "csp/sched/park_reason.h"

namespace csp::internal {

class CancelBinding;
class DirectWait;

// The cancel word: the running task's number (0: none, or a plain thread), and two bits that say
// that it is cancelled. kTaskCancelled stays for the task's life; kScopeCancelled follows the
// tokens that the fiber is bound to (csp/select/cancel_signal.h).
inline constexpr std::uint64_t kTaskCancelled = 1;
inline constexpr std::uint64_t kScopeCancelled = 2;

inline constexpr std::uint64_t CancelWordOf(std::uint64_t number) { return number << 2; }
inline constexpr std::uint64_t NumberIn(std::uint64_t cancel_word) { return cancel_word >> 2; }
inline constexpr bool SaysCancelled(std::uint64_t cancel_word) {
  return (cancel_word & (kTaskCancelled | kScopeCancelled)) != 0;
}

// The words of the wait protocol; csp/select (target wait) gives them their meaning and is their
// only user beside the scheduler's set-up and shutdown.
struct WaitWords {
  Atomic<std::uint64_t> attempt{0};  // generation, phase, index of the current wait
  // See above. Who cancels a task does so by a swap that names its number: if the fiber meanwhile
  // runs another task, that fails.
  Atomic<std::uint64_t> cancel{0};
  Atomic<DirectWait*> direct{nullptr};  // the wait in progress, if one object alone decides it
  Atomic<std::uint32_t> pins{0};        // cancellers that look at it
  // Owner only.
  int shield_depth = 0;
  std::uint32_t cancelled_throws = 0;    // how often this task has been told
  const void* cancelled_call = nullptr;  // where it was told last (cancel_report.h)
  CancelBinding* binding = nullptr;      // the innermost
};

// When a fiber that has been woken on its worker runs: next, or behind all that are ready. Two that
// talk take turns at once; who collects from many (a select) does better if it finds more of them
// there when it comes.
enum class Turn : std::uint8_t { kNext, kBehind };

// CancelSweeps that live (csp/select/blocking.h): while there is one, no control block is given
// back. Who is told so only gives back later, so no model needs to see it.
inline constinit std::atomic<std::uint32_t> cancellers{0};

class Parker {
 public:
  enum class Kind : std::uint8_t { kFiber, kThread };

  explicit Parker(Kind kind) : kind_(kind) {}
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  // The calling fiber's or thread's. A plain thread gets its record on first use.
  static Parker* Current() {
    Parker* parker = CurrentThread()->parker;
    return parker != nullptr ? parker : RegisterThread();
  }

  Kind kind() const { return kind_; }

  // The context of the thread that this parker, which is the caller, runs on. Saves asking for it;
  // as CurrentThread() not to be kept across a suspension.
  ThreadContext* thread() const { return thread_; }
  void RunsOn(ThreadContext* thread) { thread_ = thread; }

  // Suspends the caller, who must be this parker, until Unpark. `object` is what it waits on, for
  // dumps only; it is not touched. Inlined for the sake of the switch in it (switch.h).
  [[gnu::always_inline]] void Park(const ParkReason& reason, const void* object) {
    if (const Departure departure = BeginPark(reason, object)) Resume(Leave(departure));
  }

  // Puts the calling fiber, which must be this parker, behind all that are ready on its worker; a
  // plain thread gives way to others. `voluntary`: see Worker::Yield.
  [[gnu::always_inline]] void Yield(bool voluntary) {
    if (const Departure departure = BeginYield(voluntary)) Resume(Leave(departure));
  }

  // Makes it run again, at its turn. From any thread, of which the context may be given; never
  // suspends.
  void Unpark(ThreadContext* waker, Turn turn = Turn::kNext);
  void Unpark() { Unpark(CurrentThread()); }

  // Dumps read these from other threads; the owner writes them as it parks.
  struct Note {
    Atomic<const ParkReason*> reason{nullptr};  // null: not parked
    Atomic<const void*> object{nullptr};
    Atomic<std::int64_t> since{0};  // csp's time line; see Worker::CoarseNow for its grain
  };

  WaitWords words;
  Note note;

 private:
  static Parker* RegisterThread();

  // All but the switch. Without one to make, the wait is over already: a thread has waited in it.
  Departure BeginPark(const ParkReason& reason, const void* object);
  Departure BeginYield(bool voluntary);
  // What follows a switch back.
  void Resume(boost::context::detail::transfer_t transfer);

  const Kind kind_;
  ThreadContext* thread_ = nullptr;  // owner only
};

}  // namespace csp::internal

#endif  // CSP_SCHED_PARKER_H_
