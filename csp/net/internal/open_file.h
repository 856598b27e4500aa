// An open descriptor: who uses it, who waits for it, and until when.
//
// Invariants
//  1. The descriptor is closed, or given away, when `closed` has been marked and nobody uses it any
//     more. A system call is made between Enter and Leave, and so is what starts a wait; so neither
//     meets a number that means something else by now. (As fdMutex of Go's internal/poll.)
//  2. `armed` is true, in a direction, from before a wait is started until its Ready. Whoever links
//     a waiter while it is false starts the wait; so where somebody waits, a Ready will come.
//  3. A Ready wakes all watchers, who take nothing, and the first of the takers. The taker tries,
//     and then, if others stood behind it, starts the wait again for their sake. (A claimed taker
//     always tries: its wait has been decided for this case.)
//  4. Whoever marks it as closed, moves a deadline, or cannot start a wait, claims all who wait;
//     they look again.
//  5. A waiter that is linked is in the frame of somebody who has entered.
//
// Lock: a side's `mu` guards that side's lists, `armed` and `deadline`; never held across a system
// call.
// Lifetime: counted. Handles and pending waits refer to it.
#ifndef CSP_NET_INTERNAL_OPEN_FILE_H_
#define CSP_NET_INTERNAL_OPEN_FILE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "csp/base/atomic.h"
#include "csp/base/clock.h"
#include "csp/net/internal/counted.h"
#include "csp/net/internal/reactor.h"
#include "csp/select/wait_list.h"

namespace csp::internal {

class OpenFile final : public ReactorClient {
 public:
  enum class Kind : std::uint8_t { kFile, kSocket };  // whose calls are read(2), or recv(2)

  // Owns `fd`, which does not block, from now on. `type` is the name of the class that the user
  // sees, for errors.
  OpenFile(int fd, Kind kind, const char* type) : fd_(fd), kind_(kind), type_(type) {}

  const char* type() const { return type_; }
  Kind kind() const { return kind_; }
  // Of use only between Enter and Leave; after Close it may mean something else.
  int fd() const { return fd_; }
  bool closed() const { return (users_.load(std::memory_order_acquire) & kClosed) != 0; }

  // False: it is closed. True: the descriptor stays open until Leave.
  bool Enter();
  void Leave();

  // Ends every call and wait in it. The descriptor is closed as soon as the last of them has left,
  // mostly at once. False if it was closed before. Never suspends.
  bool Close();

  // Takes the descriptor out, as it was before; everything else is as after Close. -EBUSY, and
  // nothing happens, if a call or wait is under way; -EBADF if it is closed. Never suspends.
  int Release();

  // What Release and Close give back to the descriptor's flags: it was blocking before.
  void RestoreBlocking() { restore_blocking_ = true; }

  // For all calls of that direction, also those under way; csp's time line.
  void SetDeadline(Direction direction, std::int64_t deadline);
  std::int64_t deadline(Direction direction) const {
    return Side(direction).deadline.load(std::memory_order_acquire);
  }

  // --- For cases (io_case.h), who have entered.

  enum class Role : std::uint8_t { kTaker, kWatcher };

  // Links the waiter, and sees to it that a Ready comes. False, and nothing is linked, if it is
  // closed. `deadline` is the one in force.
  bool Link(Direction direction, Role role, Waiter& waiter, std::int64_t& deadline);
  // Unlinks it, if it still is linked.
  void Unlink(Direction direction, Role role, Waiter& waiter);
  // By a taker that had others behind it, after it has tried.
  void PassOn(Direction direction);

  // Whether the last call found the end of what there was (to read, or room to write): the next
  // one would, too. A hint.
  bool drained(Direction direction) const {
    return Side(direction).drained.load(std::memory_order_relaxed);
  }
  void SetDrained(Direction direction, bool drained) {
    Side(direction).drained.store(drained, std::memory_order_relaxed);
  }

  // Why no wait could be started, if that is why a waiter was woken: an error number, else 0.
  int TakeFailure(Direction direction);

  void Ready(Direction direction) noexcept override;

 private:
  struct OneSide {
    ObjectLock mu;
    WaitList takers;
    WaitList watchers;
    bool armed = false;
    Atomic<bool> drained{false};
    Atomic<int> failure{0};
    Atomic<std::int64_t> deadline{kForever};  // written under mu
  };

  static constexpr std::uint32_t kClosed = std::uint32_t{1} << 31;

  ~OpenFile() override;

  OneSide& Side(Direction direction) { return sides_[static_cast<int>(direction)]; }
  const OneSide& Side(Direction direction) const { return sides_[static_cast<int>(direction)]; }
  void StartWait(Direction direction) noexcept;
  Reactor::Registration* Registered(int& error);
  void DropOrphans();
  void WakeAll(Direction direction);
  static WaitList& List(OneSide& side, Role role) {
    return role == Role::kTaker ? side.takers : side.watchers;
  }
  void Finish();
  void Withdraw();

  const int fd_;
  const Kind kind_;
  const char* const type_;
  bool restore_blocking_ = false;
  Atomic<std::uint32_t> users_{0};  // how many have entered, and kClosed
  OneSide sides_[2];
  Atomic<Reactor::Registration*> registration_{nullptr};  // the last of those below
  std::mutex register_mu_;                                // held by whoever adds one
  // More than one if a runtime has ended while several used it.
  std::vector<std::unique_ptr<Reactor::Registration>> registrations_;
};

}  // namespace csp::internal

#endif  // CSP_NET_INTERNAL_OPEN_FILE_H_
