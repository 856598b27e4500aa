// The events of a channel: OnRecv and OnSend.
#ifndef CSP_CHAN_CASES_H_
#define CSP_CHAN_CASES_H_

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "csp/base/panic.h"
#include "csp/chan/internal/core.h"
#include "csp/chan/internal/errors.h"
#include "csp/chan/internal/waits.h"
#include "csp/select/select_event.h"

namespace csp {
namespace internal {

// How an event holds on to its channel: `Core<T>*` borrows the caller's handle, CorePtr<T> owns
// one.
template <class T>
Core<T>* CoreOf(Core<T>* core) {
  return core;
}
template <class T>
Core<T>* CoreOf(const CorePtr<T>& core) {
  return core.get();
}

// A receive into `out`, which is empty before and, if the channel is closed and drained, after.
template <class T>
class RecvCase : public Case {
 public:
  bool Poll() override { return core_->TryRecv(out_) != Passed::kNo; }
  Arming Arm() final {
    waiter.slot = &out_;
    return core_->ArmRecv(waiter) ? Arming::kArmed : Arming::kReady;
  }
  void Disarm() noexcept final { core_->DisarmRecv(waiter); }

  const ParkReason& reason() const final { return kRecvReason; }
  const void* object() const final { return core_; }

 protected:
  // For a wait of its own, which needs no summary.
  RecvCase(Core<T>& core, std::optional<T>& out)
      : Case(Case::Kind::kAsk), core_(&core), out_(out) {}
  // For a select; null: nil.
  RecvCase(Core<T>* core, std::optional<T>& out)
      : Case(core != nullptr ? &core->Watch() : nullptr, Core<T>::kCanRecv),
        core_(core),
        out_(out) {}
  ~RecvCase() = default;

  std::optional<T>& out() { return out_; }

 private:
  Core<T>* const core_;
  std::optional<T>& out_;
};

template <class T>
class TimedRecv final : public RecvCase<T> {
 public:
  TimedRecv(Core<T>& core, std::optional<T>& out) : RecvCase<T>(core, out) {}

  // A call that is cancelled on entry never gets here: what was in `out` is there still.
  bool Poll() override {
    this->out().reset();
    return RecvCase<T>::Poll();
  }
};

// A send of a value that is elsewhere, and stays there until the send happens.
template <class T>
class SendCase : public Case {
 public:
  bool Poll() final {
    const Passed passed = core_->TrySend(*value_);
    sent_ = passed == Passed::kYes;
    return passed != Passed::kNo;
  }
  Arming Arm() final {
    waiter.slot = value_;
    return core_->ArmSend(waiter) ? Arming::kArmed : Arming::kReady;
  }
  void Disarm() noexcept final { core_->DisarmSend(waiter); }
  bool Accept() final {
    sent_ = waiter.ok;
    return true;
  }

  // After Poll or Accept has said true.
  void ThrowIfClosed() const {
    if (!sent_) ThrowSendOnClosed("Chan::Send");
  }

  const ParkReason& reason() const final { return kSendReason; }
  const void* object() const final { return core_; }

 protected:
  // For a wait of its own, which needs no summary.
  explicit SendCase(Core<T>& core) : Case(Case::Kind::kAsk), core_(&core) {}
  // For a select; null: nil.
  explicit SendCase(Core<T>* core)
      : Case(core != nullptr ? &core->Watch() : nullptr, Core<T>::kCanSend), core_(core) {}
  ~SendCase() = default;

  void SetValue(T& value) { value_ = std::addressof(value); }

 private:
  Core<T>* const core_;
  T* value_ = nullptr;
  bool sent_ = false;
};

template <class T>
class TimedSend final : public SendCase<T> {
 public:
  TimedSend(Core<T>& core, T& value) : SendCase<T>(core) { this->SetValue(value); }
};

}  // namespace internal

// A receive; its result is the value, or nothing if the channel is closed and drained.
template <class T, class Hold>
class RecvEvent final : public SelectEvent, public internal::RecvCase<T> {
 public:
  using Result = std::optional<T>;

  explicit RecvEvent(Hold hold)
      : internal::RecvCase<T>(internal::CoreOf<T>(hold), value_), hold_(std::move(hold)) {}

  Result Take() { return std::move(value_); }

  template <class F>
  static consteval bool CheckHandler() {
    constexpr bool fits = std::is_invocable_v<F&, std::optional<T>>;
    static_assert(
        fits,
        "OnRecv() >> handler: the handler must take std::optional<T>, which is empty when "
        "the channel is closed and drained");
    return fits;
  }

 private:
  const Hold hold_;
  std::optional<T> value_;
};

// A send. `Value` is T& for a value that stays the caller's until the send wins, and T for a copy
// made beforehand. Take throws ClosedChannel if the channel was closed; the value is as it was.
template <class T, class Hold, class Value>
class SendEvent final : public SelectEvent, public internal::SendCase<T> {
 public:
  using Result = Unit;

  template <class V>
  SendEvent(Hold hold, V&& value)
      : internal::SendCase<T>(internal::CoreOf<T>(hold)),
        hold_(std::move(hold)),
        value_(std::forward<V>(value)) {
    this->SetValue(value_);
  }

  Result Take() {
    this->ThrowIfClosed();
    return {};
  }

 private:
  const Hold hold_;
  Value value_;
};

}  // namespace csp

#endif  // CSP_CHAN_CASES_H_
