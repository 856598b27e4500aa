// Atomics whose every access the model explorer schedules (model.h).
//
// A model test compiles the header under test with
//   -DCSP_ATOMIC_HEADER="\"csp/testing/model_atomic.h\""
// so that csp/base/atomic.h takes Atomic and CpuRelax from here. Targets that
// depend on //csp/testing:model get the flag by themselves.
//
// Rules
//  1. Never link such a test with a csp library that was compiled without the
//     flag and contains the same inline code: two definitions of one function.
//  2. T is trivially copyable, at most 8 bytes and without padding.
#ifndef CSP_TESTING_MODEL_ATOMIC_H_
#define CSP_TESTING_MODEL_ATOMIC_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "csp/testing/internal/model_hooks.h"

namespace csp::internal {

namespace model = ::csp::testing::internal;

inline constexpr bool kModelled = true;

// The part of std::atomic's interface that csp uses, by the same names and with
// the same defaults.
template <class T>
class Atomic {
  static constexpr unsigned kSize = sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be U*
  static_assert(std::is_trivially_copyable_v<T> && kSize <= sizeof(std::uint64_t),
                "values travel as the bits of one word");

 public:
  constexpr Atomic() noexcept : value_() {}
  constexpr Atomic(T value) noexcept : value_(value) {}
  constexpr ~Atomic() {
    if (!std::is_constant_evaluated()) model::AtomicDestroyed(Ref());
  }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return FromBits(model::AtomicLoad(Ref(), order));
  }

  void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    model::AtomicStore(Ref(), ToBits(value), order);
  }

  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Update(model::ModelOp::kExchange, order, [&](T) { return value; });
  }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    return CompareExchange(expected, desired, success, failure, false);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst) noexcept {
    return CompareExchange(expected, desired, order, OnFailure(order), false);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return CompareExchange(expected, desired, success, failure, true);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst) noexcept {
    return CompareExchange(expected, desired, order, OnFailure(order), true);
  }

  template <class D>
  T fetch_add(D delta, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Update(model::ModelOp::kFetchAdd, order,
                  [&](T old) { return static_cast<T>(old + delta); });
  }
  template <class D>
  T fetch_sub(D delta, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Update(model::ModelOp::kFetchSub, order,
                  [&](T old) { return static_cast<T>(old - delta); });
  }
  T fetch_and(T mask, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Update(model::ModelOp::kFetchAnd, order,
                  [&](T old) { return static_cast<T>(old & mask); });
  }
  T fetch_or(T mask, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Update(model::ModelOp::kFetchOr, order,
                  [&](T old) { return static_cast<T>(old | mask); });
  }
  T fetch_xor(T mask, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Update(model::ModelOp::kFetchXor, order,
                  [&](T old) { return static_cast<T>(old ^ mask); });
  }

 private:
  static constexpr std::memory_order OnFailure(std::memory_order order) {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order;
  }

  static std::uint64_t ToBits(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, kSize);
    return bits;
  }
  static T FromBits(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, kSize);
    return value;
  }

  model::AtomicRef Ref() const { return {&value_, &slot_, kSize}; }

  template <class F>
  T Update(model::ModelOp op, std::memory_order order, F f) {
    model::AtomicBeginUpdate(Ref(), op);
    const T old = value_;
    value_ = f(old);
    model::AtomicEndUpdate(Ref(), ToBits(old), true, order);
    return old;
  }

  bool CompareExchange(T& expected, T desired, std::memory_order success, std::memory_order failure,
                       bool weak) {
    model::AtomicBeginUpdate(Ref(), model::ModelOp::kCompareExchange);
    const T old = value_;
    const bool swap = ToBits(old) == ToBits(expected) && !(weak && model::AtomicFailsSpuriously());
    if (swap) value_ = desired;
    model::AtomicEndUpdate(Ref(), ToBits(old), swap, swap ? success : failure);
    if (!swap) expected = old;
    return swap;
  }

  // Mutable: a load too must be able to name its variable to the explorer.
  mutable T value_;
  mutable model::AtomicSlot slot_;
};

// A spin loop's turn: waits until something that the loop has read is changed by another thread. A
// loop in which nobody can do that is a deadlock.
inline void CpuRelax() { model::Relax(); }

// asymmetric.h: nothing, but for the compiler.
inline void LightBarrier() {}

// Makes the stores of all threads visible that they have done so far.
inline void HeavyBarrier() { model::HeavyBarrier(); }

}  // namespace csp::internal

#endif  // CSP_TESTING_MODEL_ATOMIC_H_
