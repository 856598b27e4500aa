// What a call on a descriptor is to the wait protocol: try; if it would block, wait until the
// descriptor is ready, then try again.
//
// The system call is made by the waiting fiber itself, in Poll or, when its wait has been decided
// for this case, in Accept. So a case of a Select that loses has moved no byte.
//
// Results are what the system call returned, or an error's number negated, or kClosedResult or
// kDeadlineResult (io_error.h). A deadline that has passed fails a call even if there is something
// to read: or a peer that never stops could not be stopped.
#ifndef CSP_NET_INTERNAL_IO_CASE_H_
#define CSP_NET_INTERNAL_IO_CASE_H_

#include <sys/types.h>

#include <cstdint>
#include <utility>

#include "csp/net/internal/io_error.h"
#include "csp/net/internal/open_file.h"
#include "csp/net/internal/system.h"
#include "csp/select/block.h"
#include "csp/select/case.h"
#include "csp/select/wait_timer.h"

namespace csp::internal {

// A case that takes something.
class IoCase : public Case {
 public:
  bool Poll() final;
  Arming Arm() final;
  void Disarm() noexcept final;
  bool Accept() final;

  const ParkReason& reason() const final { return reason_; }
  const void* object() const final { return &file_; }

  ssize_t result() const { return result_; }

 protected:
  // `hopeless_first`: where the call before has found the end of what there was, do not try before
  // waiting. For plain verbs; a Select with a Default wants to know.
  IoCase(OpenFile& file, Direction direction, const ParkReason& reason, bool hopeless_first)
      : Case(Kind::kAsk),
        file_(file),
        reason_(reason),
        timer_(waiter),
        direction_(direction),
        hopeless_first_(hopeless_first) {}
  ~IoCase() = default;

  // The system call, which must not block: -EAGAIN if it would.
  virtual ssize_t Try(int fd) = 0;

  OpenFile& file() const { return file_; }

 private:
  bool TryNow();
  bool DeadlinePassed();

  OpenFile& file_;
  const ParkReason& reason_;
  WaitTimer timer_;
  ssize_t result_ = 0;
  const Direction direction_;
  const bool hopeless_first_;
  bool entered_ = false;  // between Arm and Disarm or Accept
  bool timed_ = false;    // the timer is armed
};

// `call(fd)` as a case; `Call` is a lambda that returns as a System's member does.
template <class Call>
class IoCall final : public IoCase {
 public:
  IoCall(OpenFile& file, Direction direction, const ParkReason& reason, bool hopeless_first,
         Call call)
      : IoCase(file, direction, reason, hopeless_first), call_(std::move(call)) {}

 private:
  ssize_t Try(int fd) override { return call_(fd); }

  Call call_;
};

// The blocking verb that such a call is. Throws Cancelled, having done nothing.
template <class Call>
ssize_t Perform(OpenFile& file, Direction direction, const ParkReason& reason, Call call) {
  IoCall<Call> io(file, direction, reason, /*hopeless_first=*/true, std::move(call));
  Block(io);
  return io.result();
}

// A call that never would block: `call(fd)` on the descriptor, if it still is open.
template <class Call>
ssize_t AtOnce(OpenFile& file, Call call) {
  if (!file.Enter()) return kClosedResult;
  const ssize_t result = Uninterrupted([&] { return call(file.fd()); });
  file.Leave();
  return result;
}

// A case that only watches. Ready if the call that is meant would not block, because the descriptor
// is ready, has an error or has been closed; a hint that may be out of date.
class WatchCase : public Case {
 public:
  WatchCase(OpenFile& file, Direction direction, const ParkReason& reason)
      : Case(Kind::kAsk), file_(file), reason_(reason), direction_(direction) {}

  bool Poll() final;
  Arming Arm() final;
  void Disarm() noexcept final;
  bool Accept() final;

  const ParkReason& reason() const final { return reason_; }
  const void* object() const final { return &file_; }

 protected:
  ~WatchCase() = default;

 private:
  OpenFile& file_;
  const ParkReason& reason_;
  const Direction direction_;
  bool entered_ = false;
};

}  // namespace csp::internal

#endif  // CSP_NET_INTERNAL_IO_CASE_H_
