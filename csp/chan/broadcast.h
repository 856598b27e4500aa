// A channel of which every reader gets every value, and no reader can hold up the senders.
//
//   auto prices = csp::MakeBroadcast<Price>(64);               // keeps the last 64 values
//   csp::Go([reader = prices.Subscribe()]() mutable {
//     while (std::optional<csp::Delivery<Price>> got = reader.Recv()) {
//       if (got->missed > 0) Log("missed ", got->missed);      // was too slow
//       Use(got->value);
//     }                                                        // closed and drained
//   });
//   prices.Send(Price{1});                                     // never waits
//   prices.Close();
//
// A reader is a place in the sequence of values: it gets what is sent after Subscribe. One that is
// more than `capacity` values behind has missed those in between; it goes on with the oldest value
// that is kept, and is told with it how many it has missed. So `missed`, added up, and the number of
// values got are together the number of values sent: none is dropped without a word.
//
// Both kinds of handle are copyable and keep the channel alive; a default-constructed one is nil: in
// a Select never ready, and any other use throws NilChannel. A copy of a reader goes on, by itself,
// from where the original stood.
//
//   verb     event     try        timed
//   Send
//   Recv     OnRecv    TryRecv    RecvFor
//
// T must be copyable, and movable and destructible without throwing. Its copy constructor and the
// destructor of a value run with nothing locked, and may use csp; several may copy one value at a
// time. The move constructor may run under the channel's lock, and may not use csp. For what cannot
// be copied, or is large, send a std::shared_ptr<const T>. A value is destroyed when it has been
// overwritten and nobody copies it any more, or with the last handle.
//
// Thread rules: all members of a Broadcast from any fiber or thread. A reader is for one at a time;
// give each its own copy.
// Memory ordering: what happens before a send is visible after the receive of its value or of a
// later one; what happens before Close is visible after a receive that says closed.
// Cost: a receive takes the channel's lock once, a send once, and once more to put away the value
// that it has overwritten. A cell for each value kept is allocated when it is first used, and one
// for each that is being copied while it is overwritten; from then on nothing is. A send is
// O(number of readers that wait), all else O(1).
#ifndef CSP_CHAN_BROADCAST_H_
#define CSP_CHAN_BROADCAST_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/time/time.h"
#include "csp/chan/internal/cast_case.h"
#include "csp/chan/internal/cast_core.h"
#include "csp/chan/internal/errors.h"
#include "csp/select/select_event.h"

namespace csp {

template <class T>
class Broadcast;
template <class T>
class BroadcastReader;

// A channel that keeps the last `capacity` values for readers to come. Throws InvalidArgument if
// that is 0, or could not be stored anywhere; std::bad_alloc if it could not be stored here.
template <class T>
[[nodiscard]] Broadcast<T> MakeBroadcast(std::size_t capacity);

// What a reader gets.
template <class T>
struct Delivery {
  T value;
  // How many values between the reader's last one and this one it has not got.
  std::uint64_t missed = 0;
};

// Recv of a reader, which it borrows.
template <class T>
class BroadcastEvent;

template <class T>
class BroadcastReader final : public internal::CastHandle<T> {
  using Base = internal::CastHandle<T>;

 public:
  // Nil.
  BroadcastReader() = default;

  // Blocks until there is a value that it has not had; empty: the channel is closed, and the reader
  // has had what is kept. Throws NilChannel, Cancelled, and what T's copy constructor throws; the
  // value is still to be had then.
  std::optional<Delivery<T>> Recv() {
    Check("BroadcastReader::Recv");
    return internal::AwaitResult(BroadcastEvent<T>(*this));
  }

  // Without waiting. False: nothing is there now, `out` is empty. True: `out` is what Recv would have
  // returned. Never suspends. Throws as Recv, but not Cancelled.
  [[nodiscard]] bool TryRecv(std::optional<Delivery<T>>& out) {
    Check("BroadcastReader::TryRecv");
    return internal::TryResult(BroadcastEvent<T>(*this), out);
  }

  // As TryRecv, but waits up to `timeout` (0 or less: does not; infinite: as Recv). A value that is
  // there wins over a timeout that has passed. Throws as Recv; `out` is empty then, or untouched.
  [[nodiscard]] bool RecvFor(absl::Duration timeout, std::optional<Delivery<T>>& out) {
    Check("BroadcastReader::RecvFor");
    return internal::ResultWithin(BroadcastEvent<T>(*this), timeout, out);
  }

  // Recv as an event; the handler takes std::optional<Delivery<T>>. Of a reader that lives longer
  // than the Select: its place must not be forgotten.
  [[nodiscard]] BroadcastEvent<T> OnRecv() & { return BroadcastEvent<T>(*this); }
  template <class U = T>
  internal::Refused OnRecv() && {
    static_assert(internal::kAlwaysFalse<U>,
                  "Subscribe().OnRecv(): a reader that lives for one Select misses what is sent "
                  "between two; name it, auto reader = broadcast.Subscribe(), and use that");
    return {};
  }

  // How many values it would get without waiting; of a nil reader 0. The rest of those that have
  // been sent since its last one are missed already.
  std::size_t len() const {
    if (this->is_nil()) return 0;
    return std::min<std::uint64_t>(this->core()->end() - next_, this->core()->capacity());
  }

 private:
  friend class Broadcast<T>;
  friend class BroadcastEvent<T>;

  BroadcastReader(internal::CastPtr<T> core, std::uint64_t next)
      : Base(std::move(core)), next_(next) {}

  void Check(const char* call) const { (void)this->CoreFor(call, "Broadcast::Subscribe"); }

  std::uint64_t next_ = 0;  // the number of the value that it wants next
};

template <class T>
class Broadcast final : public internal::CastHandle<T> {
  using Base = internal::CastHandle<T>;

 public:
  // Nil.
  Broadcast() = default;

  // Sends to all readers, now and to come; the oldest value is overwritten if `capacity` are kept.
  // Never waits, and is no cancellation point. Throws NilChannel, ClosedChannel, std::bad_alloc:
  // `value` is untouched then.
  void Send(T&& value) const {
    if (!CoreFor("Broadcast::Send").Send(value)) internal::ThrowSendOnClosed("Broadcast::Send");
  }
  // Sends a copy, made before anything else happens.
  template <std::copy_constructible U = T>
  void Send(const T& value) const {
    Send(T(value));
  }

  // A reader of what is sent from now on. Throws NilChannel.
  [[nodiscard]] BroadcastReader<T> Subscribe() const {
    return BroadcastReader<T>(this->core_, CoreFor("Broadcast::Subscribe").end());
  }

  // No sends any more: each reader gets what is kept and it has not had, then nothing. Never
  // suspends. Throws NilChannel, and ClosedChannel if it is closed already.
  void Close() const {
    if (!CoreFor("Broadcast::Close").Close()) internal::ThrowCloseOfClosed("Broadcast::Close");
  }

  // How many values are kept; of a nil channel 0.
  std::size_t capacity() const { return this->is_nil() ? 0 : this->core()->capacity(); }

  // Equal: handles to the same channel, or both nil.
  friend bool operator==(const Broadcast& a, const Broadcast& b) { return a.core() == b.core(); }

 private:
  template <class U>
  friend Broadcast<U> MakeBroadcast(std::size_t);
  using Base::Base;

  internal::CastCore<T>& CoreFor(const char* call) const {
    return Base::CoreFor(call, "MakeBroadcast");
  }
};

template <class T>
class BroadcastEvent final : public SelectEvent, public internal::CastCase<T> {
 public:
  using Result = std::optional<Delivery<T>>;

  explicit BroadcastEvent(BroadcastReader<T>& reader)
      : internal::CastCase<T>(reader.core(), reader.next_), reader_(reader) {}

  Result Take() {
    auto& held = this->held();
    if (!held) return std::nullopt;
    Result result(Delivery<T>{held.value(), held.number() - reader_.next_});
    reader_.next_ = held.number() + 1;
    held.Drop();
    return result;
  }

  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Recv", "broadcast"};
    return kReason;
  }

  template <class F>
  static consteval bool CheckHandler() {
    constexpr bool fits = std::is_invocable_v<F&, Result>;
    static_assert(fits,
                  "OnRecv() >> handler: the handler must take std::optional<csp::Delivery<T>>, "
                  "which says how many values were missed, and is empty when the channel is closed "
                  "and drained");
    return fits;
  }

 private:
  BroadcastReader<T>& reader_;
};

template <class T>
Broadcast<T> MakeBroadcast(std::size_t capacity) {
  internal::CheckCastElement<T>();
  if (capacity == 0 || capacity > PTRDIFF_MAX / (sizeof(T) + sizeof(void*))) {
    internal::ThrowBroadcastCapacity();
  }
  return Broadcast<T>(internal::CastPtr<T>(new internal::CastCore<T>(capacity)));
}

}  // namespace csp

#endif  // CSP_CHAN_BROADCAST_H_
