// A wait for a value of a Broadcast or Watch, and what the handles of both share.
#ifndef CSP_CHAN_INTERNAL_CAST_CASE_H_
#define CSP_CHAN_INTERNAL_CAST_CASE_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/time/time.h"
#include "csp/base/clock.h"
#include "csp/chan/internal/cast_core.h"
#include "csp/chan/internal/counted_ptr.h"
#include "csp/chan/internal/errors.h"
#include "csp/select/block.h"
#include "csp/select/case.h"

namespace csp::internal {

template <class T>
using CastPtr = CountedPtr<CastCore<T>>;

// A value is not used up by being read, so nothing is taken where the wait is decided: whoever is
// woken looks, and holds what it finds. The copy is made in Take.
template <class T>
class CastCase : public Case {
 public:
  bool Poll() final { return core_->Look(wanted_, held_); }
  Arming Arm() final { return core_->Arm(waiter, wanted_) ? Arming::kArmed : Arming::kReady; }
  void Disarm() noexcept final { core_->Disarm(waiter); }
  bool Accept() final { return Poll(); }

  const void* object() const final { return core_; }

 protected:
  // Null: nil.
  CastCase(CastCore<T>* core, std::uint64_t wanted)
      : Case(core != nullptr ? Case::Kind::kAsk : Case::Kind::kNever),
        core_(core),
        wanted_(wanted) {}
  ~CastCase() = default;

  typename CastCore<T>::Held& held() { return held_; }

 private:
  CastCore<T>* const core_;
  const std::uint64_t wanted_;
  typename CastCore<T>::Held held_;
};

// What a plain verb is made of: waits for the event, and gives its result.
template <class Event>
typename Event::Result AwaitResult(Event event) {
  Block(event);
  return event.Take();
}

// Without waiting. False: there is nothing, and `out` is empty.
template <class Event>
bool TryResult(Event event, typename Event::Result& out) {
  out.reset();
  if (!event.Poll()) return false;
  if (auto result = event.Take()) out.emplace(*std::move(result));  // T may have no assignment
  return true;
}

// The same, but waits up to `timeout`.
template <class Event>
bool ResultWithin(Event event, absl::Duration timeout, typename Event::Result& out) {
  const bool there = BlockUntil(event, DeadlineAfter(NowNanos(), timeout));
  out.reset();
  if (!there) return false;
  if (auto result = event.Take()) out.emplace(*std::move(result));
  return true;
}

// Whoever has one keeps the channel.
template <class T>
class CastHandle {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "Broadcast<T>, Watch<T>: T must be a plain object type; send a pointer or "
                "std::reference_wrapper");

 public:
  bool is_nil() const { return core() == nullptr; }

 protected:
  CastHandle() = default;
  explicit CastHandle(CastPtr<T> core) : core_(std::move(core)) {}

  CastCore<T>* core() const { return core_.get(); }
  CastCore<T>& CoreFor(const char* call, const char* maker) const {
    CheckCastElement<T>();
    if (core() == nullptr) [[unlikely]] {
      ThrowNil(call, maker);
    }
    return *core();
  }

  CastPtr<T> core_;
};

}  // namespace csp::internal

#endif  // CSP_CHAN_INTERNAL_CAST_CASE_H_
