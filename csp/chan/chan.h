// A channel passes values from fiber to fiber (or plain thread), as in Go.
//
//   auto jobs = csp::MakeChan<Job>();           // unbuffered: a send waits for its receive
//   csp::Go([jobs] {
//     for (Job& job : jobs) Work(job);          // until closed and drained
//   });
//   jobs.Send(Job{1});
//   jobs.Close();
//
// Chan<T> is a handle: copies mean the same channel, which lives as long as a handle does. It
// converts to SendChan<T> and RecvChan<T>, which can do only the one or the other. A
// default-constructed handle is nil: in a Select it is never ready; any other use throws
// NilChannel.
//
//   verb     event     try        timed
//   Send     OnSend    TrySend    SendFor
//   Recv     OnRecv    TryRecv    RecvFor
//
// T must be movable and destructible without throwing; it may be move-only, over-aligned, empty,
// and without default constructor or assignment. It may be incomplete where a handle is declared, so
// `struct Call { csp::SendChan<Call> answer; };` is right. A value is moved only when the operation
// happens: a send that fails, is cancelled or loses in a Select leaves it as it is. T's move
// constructor, and the destructor of what has been moved from, may run under the channel's lock, so
// they may not use csp.
//
// Thread rules: all members from any fiber or thread; one handle object is no safer than an int.
// Memory ordering: what happens before a send is visible after the receive of its value; what
// happens before the k-th receive is visible after the (k + capacity)-th send; what happens before
// Close is visible after a receive that says closed.
// Cost: no allocation but the channel itself, its buffer, and in an unbounded one a chunk now and
// then.
// Order: values arrive in the order sent; whoever waits first is served first, unless it waits in a
// select that is decided otherwise.
#ifndef CSP_CHAN_CHAN_H_
#define CSP_CHAN_CHAN_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/time/time.h"
#include "csp/chan/cases.h"
#include "csp/chan/internal/core.h"
#include "csp/chan/internal/errors.h"
#include "csp/chan/internal/waits.h"
#include "csp/select/block.h"

namespace csp {

template <class T>
class Chan;
template <class T>
class SendChan;
template <class T>
class RecvChan;

struct Unbounded {};
inline constexpr Unbounded kUnbounded;

// A channel that holds up to `capacity` values for receivers to come; with 0 a send waits for its
// receive. Throws InvalidArgument if so many values could not be stored anywhere, std::bad_alloc if
// they could not be stored here.
template <class T>
[[nodiscard]] Chan<T> MakeChan(std::size_t capacity = 0);
// A channel whose sends never wait.
template <class T>
[[nodiscard]] Chan<T> MakeChan(Unbounded);

namespace internal {

// Looked at where a channel is made or used, not where a handle is declared: T may be incomplete
// there.
template <class T>
consteval void CheckElement() {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "Chan<T>: moving and destroying T must not throw, since a value may be in flight "
                "between two fibers; declare T's move constructor noexcept, or send a "
                "std::unique_ptr<T>");
}

// What the three kinds of handle share.
template <class T>
class ChanHandle {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "Chan<T>: T must be a plain object type; send a pointer or std::reference_wrapper");

 public:
  // How many values are buffered, now; of a nil channel 0.
  std::size_t len() const { return core() != nullptr ? core()->size() : 0; }
  // SIZE_MAX if unbounded; of a nil channel 0.
  std::size_t capacity() const { return core() != nullptr ? core()->capacity() : 0; }
  bool is_nil() const { return core() == nullptr; }

  // Equal: handles to the same channel, or both nil; whatever the direction.
  friend bool operator==(const ChanHandle& a, const ChanHandle& b) { return a.core() == b.core(); }

  std::size_t Hash() const { return std::hash<const void*>()(core()); }

 protected:
  ChanHandle() = default;
  explicit ChanHandle(CorePtr<T> core) : core_(std::move(core)) {}

  Core<T>* core() const { return core_.get(); }
  Core<T>& CoreFor(const char* call) const {
    CheckElement<T>();
    if (core() == nullptr) [[unlikely]] {
      ThrowNil(call, "MakeChan");
    }
    return *core();
  }

  CorePtr<T> core_;
};

// The receiving verbs.
template <class T, class Base>
class Receiving : public Base {
 public:
  // Blocks until there is a value; empty: the channel is closed and drained.
  // Throws NilChannel, Cancelled.
  std::optional<T> Recv() const {
    std::optional<T> value;
    RecvWait<T>(this->CoreFor("Chan::Recv"), value).Run();
    return value;
  }

  // Without waiting. False: nothing is there now, `out` is empty. True: `out` is what Recv would
  // have returned. Never suspends. Throws NilChannel.
  [[nodiscard]] bool TryRecv(std::optional<T>& out) const {
    Core<T>& core = this->CoreFor("Chan::TryRecv");
    out.reset();
    return core.TryRecv(out) != Passed::kNo;
  }

  // As TryRecv, but waits up to `timeout` (0 or less: does not; infinite: as Recv). A value that is
  // there wins over a timeout that has passed. Throws NilChannel, Cancelled; `out` is untouched if
  // it throws at once, and empty if it has waited.
  [[nodiscard]] bool RecvFor(absl::Duration timeout, std::optional<T>& out) const {
    TimedRecv<T> receive(this->CoreFor("Chan::RecvFor"), out);
    return BlockUntil(receive, DeadlineAfter(NowNanos(), timeout));
  }

  // Recv as an event; the handler takes std::optional<T>. Of a handle that lives longer than the
  // Select, or of one that is made for it, which the event then keeps.
  [[nodiscard]] auto OnRecv() const& { return RecvEvent<T, Core<T>*>(this->core()); }
  [[nodiscard]] auto OnRecv() && { return RecvEvent<T, CorePtr<T>>(std::move(this->core_)); }

  // `for (T& value : channel)`: receives until the channel is closed and drained. A single pass;
  // several loops over one channel share its values.
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(const Receiving* channel) : channel_(channel) { ++*this; }
    T& operator*() const { return *value_; }
    T* operator->() const { return &*value_; }
    Iterator& operator++() {
      value_.reset();
      RecvWait<T>(channel_->CoreFor("Chan::Recv"), value_).Run();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !value_.has_value(); }

   private:
    const Receiving* channel_;
    mutable std::optional<T> value_;
  };
  Iterator begin() const { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

 protected:
  using Base::Base;
};

// The sending verbs.
template <class T, class Base>
class Sending : public Base {
 public:
  // Blocks until the value has been taken by a receiver or the buffer. Throws NilChannel,
  // ClosedChannel, Cancelled: `value` is untouched then.
  void Send(T&& value) const {
    SendWait<T> wait(this->CoreFor("Chan::Send"), value);
    if (!wait.Run()) ThrowSendOnClosed("Chan::Send");
  }
  // Sends a copy, made before anything else happens.
  // (Here and below a template, since clang 14 would ask of a plain function whether T can be copied
  // before T is complete.)
  template <std::copy_constructible U = T>
  void Send(const T& value) const {
    Send(T(value));
  }

  // Without waiting. False: there is no room and no receiver now, `value` is untouched. Never
  // suspends. Throws NilChannel, ClosedChannel (`value` is untouched).
  [[nodiscard]] bool TrySend(T&& value) const {
    const Passed passed = this->CoreFor("Chan::TrySend").TrySend(value);
    if (passed == Passed::kClosed) ThrowSendOnClosed("Chan::Send");
    return passed == Passed::kYes;
  }
  template <std::copy_constructible U = T>
  [[nodiscard]] bool TrySend(const T& value) const {
    return TrySend(T(value));
  }

  // As TrySend, but waits up to `timeout` (0 or less: does not; infinite: as Send). Throws
  // NilChannel, ClosedChannel, Cancelled. Whenever it does not return true, `value` is untouched.
  [[nodiscard]] bool SendFor(absl::Duration timeout, T&& value) const {
    TimedSend<T> send(this->CoreFor("Chan::SendFor"), value);
    if (!BlockUntil(send, DeadlineAfter(NowNanos(), timeout))) return false;
    send.ThrowIfClosed();
    return true;
  }
  template <std::copy_constructible U = T>
  [[nodiscard]] bool SendFor(absl::Duration timeout, const T& value) const {
    return SendFor(timeout, T(value));
  }

  // Send as an event without result. The value is computed in any case, also if another one wins. An
  // rvalue is borrowed until the end of the Select and moved from only if this case wins; of an
  // lvalue a copy is made at once. Select throws ClosedChannel if the channel is closed and this
  // case is chosen.
  [[nodiscard]] auto OnSend(T&& value) const& {
    return SendEvent<T, Core<T>*, T&>(this->core(), value);
  }
  template <std::copy_constructible U = T>
  [[nodiscard]] auto OnSend(const T& value) const& {
    return SendEvent<T, Core<T>*, T>(this->core(), value);
  }
  [[nodiscard]] auto OnSend(T&& value) && {
    return SendEvent<T, CorePtr<T>, T&>(std::move(this->core_), value);
  }
  template <std::copy_constructible U = T>
  [[nodiscard]] auto OnSend(const T& value) && {
    return SendEvent<T, CorePtr<T>, T>(std::move(this->core_), value);
  }

  // No sends any more: receivers get what is buffered, then nothing; whoever waits to send is told.
  // Never suspends. Throws NilChannel, and ClosedChannel if it is closed already.
  void Close() const {
    if (!this->CoreFor("Chan::Close").Close()) ThrowCloseOfClosed("Chan::Close");
  }

 protected:
  using Base::Base;
};

// A channel is no event: only says so.
template <class T, class F>
Refused operator>>(const ChanHandle<T>&, F&&) {
  static_assert(kAlwaysFalse<F>,
                "channel >> handler: a channel is no event; write channel.OnRecv() >> handler or "
                "channel.OnSend(value) >> handler");
  return {};
}

}  // namespace internal

// The receiving end.
template <class T>
class RecvChan final : public internal::Receiving<T, internal::ChanHandle<T>> {
  using Base = internal::Receiving<T, internal::ChanHandle<T>>;

 public:
  RecvChan() = default;

 private:
  friend class Chan<T>;
  using Base::Base;
};

// The sending end.
template <class T>
class SendChan final : public internal::Sending<T, internal::ChanHandle<T>> {
  using Base = internal::Sending<T, internal::ChanHandle<T>>;

 public:
  SendChan() = default;

 private:
  friend class Chan<T>;
  using Base::Base;
};

// Both ends.
template <class T>
class Chan final : public internal::Receiving<T, internal::Sending<T, internal::ChanHandle<T>>> {
  using Base = internal::Receiving<T, internal::Sending<T, internal::ChanHandle<T>>>;

 public:
  // Nil.
  Chan() = default;

  // NOLINTBEGIN(google-explicit-constructor): giving up one direction is always safe, as in Go.
  operator RecvChan<T>() const { return RecvChan<T>(this->core_); }
  operator SendChan<T>() const { return SendChan<T>(this->core_); }
  // NOLINTEND(google-explicit-constructor)

 private:
  template <class U>
  friend Chan<U> MakeChan(std::size_t);
  template <class U>
  friend Chan<U> MakeChan(Unbounded);
  using Base::Base;
};

template <class T>
Chan<T> MakeChan(std::size_t capacity) {
  internal::CheckElement<T>();
  if (capacity > PTRDIFF_MAX / sizeof(T)) internal::ThrowChanCapacity();
  return Chan<T>(internal::CorePtr<T>(new internal::Core<T>(capacity)));
}

template <class T>
Chan<T> MakeChan(Unbounded) {
  internal::CheckElement<T>();
  return Chan<T>(internal::CorePtr<T>(new internal::Core<T>(internal::Buffer<T>::kUnlimited)));
}

}  // namespace csp

template <class T>
struct std::hash<csp::Chan<T>> {
  std::size_t operator()(const csp::Chan<T>& channel) const { return channel.Hash(); }
};
template <class T>
struct std::hash<csp::RecvChan<T>> {
  std::size_t operator()(const csp::RecvChan<T>& channel) const { return channel.Hash(); }
};
template <class T>
struct std::hash<csp::SendChan<T>> {
  std::size_t operator()(const csp::SendChan<T>& channel) const { return channel.Hash(); }
};

#endif  // CSP_CHAN_CHAN_H_
