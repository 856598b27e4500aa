// A value that changes, and that others look at or wait for: they see the latest, not each.
//
//   auto settings = csp::MakeWatch(Settings{…});
//   csp::Go([reader = settings.Subscribe()]() mutable {
//     while (std::optional<Settings> now = reader.Next()) Apply(*now);   // the first is there at once
//   });
//   settings.Set(Settings{…});
//   Settings now = settings.Get();
//
// Each Set makes a new version. A reader knows which version it has seen last, and waits for one
// that is newer; what was set in between it does not get. A new reader has seen none, so its first
// Next returns at once. A reader that must have every value is a Broadcast's (broadcast.h).
//
// Both kinds of handle are copyable and keep the channel alive; a default-constructed one is nil: in
// a Select never ready, and any other use throws NilChannel. A copy of a reader has seen what the
// original had.
//
//   verb     event       try        timed
//   Set
//   Get
//   Next     OnChange    TryNext    NextFor
//
// T must be copyable, and movable and destructible without throwing. Its copy constructor and the
// destructor of a value run with nothing locked, and may use csp; several may copy one value at a
// time. The move constructor may run under the channel's lock, and may not use csp. For what cannot
// be copied, or is large, take a std::shared_ptr<const T>. A value is destroyed when it has been
// replaced and nobody copies it any more, or with the last handle.
//
// Thread rules: all members of a Watch from any fiber or thread. A reader is for one at a time; give
// each its own copy.
// Memory ordering: what happens before a Set is visible to whoever gets its value or a later one;
// what happens before Close is visible after a Next that says closed.
// Cost: a lock for each Set, Get, and Next that finds something; a TryNext that finds nothing is a
// load. Once a few values have been set, nothing is allocated. A Set is O(number of readers that
// wait), all else O(1).
#ifndef CSP_CHAN_WATCH_H_
#define CSP_CHAN_WATCH_H_

#include <concepts>
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
class Watch;
template <class T>
class WatchReader;

// A channel whose value is `initial` at first. Throws std::bad_alloc.
template <class T>
[[nodiscard]] Watch<T> MakeWatch(T initial);

// Next of a reader, which it borrows.
template <class T>
class WatchEvent;

template <class T>
class WatchReader final : public internal::CastHandle<T> {
  using Base = internal::CastHandle<T>;

 public:
  // Nil.
  WatchReader() = default;

  // Blocks until the value is newer than the one it has seen, and returns the latest; empty: the
  // channel is closed, and the reader has seen the last value. Throws NilChannel, Cancelled, and what
  // T's copy constructor throws; the value counts as not seen then.
  std::optional<T> Next() {
    Check("WatchReader::Next");
    return internal::AwaitResult(WatchEvent<T>(*this));
  }

  // Without waiting. False: nothing is newer, `out` is empty. True: `out` is what Next would have
  // returned. Never suspends. Throws as Next, but not Cancelled.
  [[nodiscard]] bool TryNext(std::optional<T>& out) {
    Check("WatchReader::TryNext");
    return internal::TryResult(WatchEvent<T>(*this), out);
  }

  // As TryNext, but waits up to `timeout` (0 or less: does not; infinite: as Next). A value that is
  // there wins over a timeout that has passed. Throws as Next; `out` is empty then, or untouched.
  [[nodiscard]] bool NextFor(absl::Duration timeout, std::optional<T>& out) {
    Check("WatchReader::NextFor");
    return internal::ResultWithin(WatchEvent<T>(*this), timeout, out);
  }

  // Next as an event; the handler takes std::optional<T>. Of a reader that lives longer than the
  // Select: what it has seen must not be forgotten.
  [[nodiscard]] WatchEvent<T> OnChange() & { return WatchEvent<T>(*this); }
  template <class U = T>
  internal::Refused OnChange() && {
    static_assert(
        internal::kAlwaysFalse<U>,
        "Subscribe().OnChange(): a reader that lives for one Select has seen nothing, and "
        "is always ready; name it, auto reader = watch.Subscribe(), and use that");
    return {};
  }

  // The latest value, whether it has seen it or not; from now on it has. Never suspends. Throws
  // NilChannel.
  T Get() {
    typename internal::CastCore<T>::Held held;
    (void)Check("WatchReader::Get").Look(0, held);
    T value(held.value());
    seen_ = held.number() + 1;
    return value;
  }

 private:
  friend class Watch<T>;
  friend class WatchEvent<T>;

  using Base::Base;

  internal::CastCore<T>& Check(const char* call) const {
    return this->CoreFor(call, "Watch::Subscribe");
  }

  std::uint64_t seen_ = 0;  // the version; 0: none
};

template <class T>
class Watch final : public internal::CastHandle<T> {
  using Base = internal::CastHandle<T>;

 public:
  // Nil.
  Watch() = default;

  // Replaces the value, also by an equal one, and wakes who waits for a change. Never suspends.
  // Throws NilChannel, ClosedChannel, std::bad_alloc: `value` is untouched then.
  void Set(T&& value) const {
    if (!CoreFor("Watch::Set").Send(value)) internal::ThrowSendOnClosed("Watch::Set");
  }
  // Sets a copy, made before anything else happens.
  template <std::copy_constructible U = T>
  void Set(const T& value) const {
    Set(T(value));
  }

  // The latest value, also of a channel that is closed. Never suspends. Throws NilChannel.
  T Get() const {
    typename internal::CastCore<T>::Held held;
    (void)CoreFor("Watch::Get").Look(0, held);
    return held.value();
  }

  // A reader that has seen nothing. Throws NilChannel.
  [[nodiscard]] WatchReader<T> Subscribe() const {
    (void)CoreFor("Watch::Subscribe");
    return WatchReader<T>(this->core_);
  }

  // No changes any more: each reader gets the latest value if it has not seen it, then nothing.
  // Never suspends. Throws NilChannel, and ClosedChannel if it is closed already.
  void Close() const {
    if (!CoreFor("Watch::Close").Close()) internal::ThrowCloseOfClosed("Watch::Close");
  }

  // Equal: handles to the same channel, or both nil.
  friend bool operator==(const Watch& a, const Watch& b) { return a.core() == b.core(); }

 private:
  template <class U>
  friend Watch<U> MakeWatch(U);
  using Base::Base;

  internal::CastCore<T>& CoreFor(const char* call) const {
    return Base::CoreFor(call, "MakeWatch");
  }
};

template <class T>
class WatchEvent final : public SelectEvent, public internal::CastCase<T> {
 public:
  using Result = std::optional<T>;

  explicit WatchEvent(WatchReader<T>& reader)
      : internal::CastCase<T>(reader.core(), reader.seen_), reader_(reader) {}

  Result Take() {
    auto& held = this->held();
    if (!held) return std::nullopt;
    Result result(held.value());
    reader_.seen_ = held.number() + 1;
    held.Drop();
    return result;
  }

  const ParkReason& reason() const override {
    static constexpr ParkReason kReason{"Next", "watch"};
    return kReason;
  }

  template <class F>
  static consteval bool CheckHandler() {
    constexpr bool fits = std::is_invocable_v<F&, Result>;
    static_assert(fits,
                  "OnChange() >> handler: the handler must take std::optional<T>, which is empty "
                  "when the channel is closed and its last value has been seen");
    return fits;
  }

 private:
  WatchReader<T>& reader_;
};

template <class T>
Watch<T> MakeWatch(T initial) {
  internal::CheckCastElement<T>();
  Watch<T> watch(internal::CastPtr<T>(new internal::CastCore<T>(1)));
  watch.Set(std::move(initial));
  return watch;
}

}  // namespace csp

#endif  // CSP_CHAN_WATCH_H_
