// The state of a Broadcast, and of a Watch, which is one that keeps a single value.
//
// Invariants
//  1. Values are numbered from 0 in the order sent; those kept are the last `capacity`. A reader is
//     the number of the value it wants next, which only the reader itself knows: nobody is
//     registered, and a reader that goes leaves nothing.
//  2. A cell's value is made before the cell is in the ring, and constant from then on. The ring has
//     a reference to each of its cells. Whoever copies a value has one, too, taken under `mu_` while
//     the cell was in the ring.
//  3. The last reference to a cell destroys the value, with nothing locked, and then gives the cell
//     to the spare ones. So there are never more cells than values kept, plus values being made,
//     copied or destroyed.
//  4. While a reader waits undecided, the value it wants has not been sent and the channel is open.
//     Send and Close claim all who wait; each then looks for itself, and always finds something.
//  5. Close happens once; nothing is sent after it. What is kept stays.
//
// Lock: `mu_` guards everything but `references`; `state_` is written under it, and read without it to
// see whether it is worth taking: relaxed, since what it leads to is looked at under the lock.
// Of T's functions only the move constructor runs under it, as in a Chan (core.h): values are copied
// and destroyed with nothing locked. Wakes happen after it has been released.
//
// Memory ordering: a send happens before a look that finds its value or a later one; close before a
// look that sees it.
#ifndef CSP_CHAN_INTERNAL_CAST_CORE_H_
#define CSP_CHAN_INTERNAL_CAST_CORE_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "csp/base/atomic.h"
#include "csp/base/leaning_lock.h"
#include "csp/select/wait_list.h"

namespace csp::internal {

// Looked at where a channel is made or used, not where a handle is declared: T may be incomplete
// there.
template <class T>
consteval void CheckCastElement() {
  static_assert(std::copy_constructible<T>,
                "Broadcast<T>, Watch<T>: each reader gets a copy, so T must be copyable; send a "
                "std::shared_ptr<const T> of what cannot be copied, or is costly to copy");
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "Broadcast<T>, Watch<T>: moving and destroying T must not throw; declare T's move "
                "constructor noexcept, or send a std::shared_ptr<const T>");
}

template <class T>
class CastCore {
  struct Cell;

 public:
  // A reference to a value, or to none.
  class Held {
   public:
    Held() = default;
    ~Held() { Drop(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    explicit operator bool() const { return cell_ != nullptr; }
    const T& value() const { return cell_->value; }
    std::uint64_t number() const { return number_; }

    // With no lock held.
    void Drop() {
      if (cell_ != nullptr) core_->Release(std::exchange(cell_, nullptr));
    }

   private:
    friend class CastCore;

    CastCore* core_ = nullptr;
    Cell* cell_ = nullptr;
    std::uint64_t number_ = 0;
  };

  // Keeps `capacity` values, at least 1.
  explicit CastCore(std::size_t capacity)
      : capacity_(capacity), ring_(std::make_unique<Cell*[]>(capacity)) {}
  CastCore(const CastCore&) = delete;
  CastCore& operator=(const CastCore&) = delete;

  ~CastCore() {
    for (std::uint64_t number = first(); number < end(); ++number) {
      std::destroy_at(std::addressof(CellOf(number)->value));
      delete CellOf(number);
    }
    while (spare_ != nullptr) delete PopSpare();
  }

  std::size_t capacity() const { return capacity_; }
  // How many values have been sent, which is the number of the next one.
  std::uint64_t end() const { return state_.load(std::memory_order_relaxed) >> 1; }

  // Sends `value`. False: closed, and `value` is as it was. Throws std::bad_alloc, the same.
  bool Send(T& value) {
    WakeList wake;
    Cell* overwritten;
    {
      std::unique_lock lock(mu_);
      while (!closed() && spare_ == nullptr) {
        lock.unlock();
        auto cell = std::make_unique<Cell>();
        lock.lock();
        PushSpare(cell.release());
      }
      if (closed()) return false;
      Cell* cell = PopSpare();
      std::construct_at(std::addressof(cell->value), std::move(value));
      cell->references.store(1, std::memory_order_relaxed);
      overwritten = std::exchange(CellOf(end()), cell);
      state_.store((end() + 1) << 1, std::memory_order_relaxed);
      wake.Claim(readers_, true);
    }
    wake.WakeAll();
    if (overwritten != nullptr) Release(overwritten);
    return true;
  }

  // False if it was closed before.
  bool Close() {
    WakeList wake;
    {
      const std::lock_guard lock(mu_);
      if (closed()) return false;
      state_.store(end() << 1 | kClosed, std::memory_order_relaxed);
      wake.Claim(readers_, true);
    }
    wake.WakeAll();
    return true;
  }

  // True: `held` has the value numbered `wanted`, or the oldest that is kept if that is younger; or
  // none, if there is no such value and will not be. False: it has not been sent.
  bool Look(std::uint64_t wanted, Held& held) {
    if (!HasNews(wanted)) return false;
    const std::lock_guard lock(mu_);
    if (wanted >= end()) return true;
    held.core_ = this;
    held.number_ = std::max(wanted, first());
    held.cell_ = CellOf(held.number_);
    held.cell_->references.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  // Links `waiter`, unless there is something to find; true if it is linked.
  bool Arm(Waiter& waiter, std::uint64_t wanted) {
    const std::lock_guard lock(mu_);
    if (HasNews(wanted)) return false;
    readers_.PushBack(waiter);
    return true;
  }
  void Disarm(Waiter& waiter) {
    const std::lock_guard lock(mu_);
    readers_.Remove(waiter);
  }

  Atomic<std::size_t> references{1};  // of handles

 private:
  static constexpr std::uint64_t kClosed = 1;

  struct Cell {
    Cell() {}   // NOLINT(modernize-use-equals-default): there is no value yet
    ~Cell() {}  // NOLINT(modernize-use-equals-default): ... or none any more

    Atomic<std::size_t> references{0};
    Cell* next_spare = nullptr;
    union {
      T value;  // while there are references
    };
  };

  bool closed() const { return (state_.load(std::memory_order_relaxed) & kClosed) != 0; }
  // The number of the oldest value that is kept.
  std::uint64_t first() const { return end() - std::min<std::uint64_t>(end(), capacity_); }
  Cell*& CellOf(std::uint64_t number) { return ring_[number % capacity_]; }

  // Whether a look would find something: once true, true for ever.
  bool HasNews(std::uint64_t wanted) const {
    const std::uint64_t now = state_.load(std::memory_order_relaxed);
    return now >> 1 > wanted || (now & kClosed) != 0;
  }

  // With no lock held.
  void Release(Cell* cell) {
    // acq_rel: every copy has been made before the value is destroyed.
    if (cell->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::destroy_at(std::addressof(cell->value));
    const std::lock_guard lock(mu_);
    PushSpare(cell);
  }

  void PushSpare(Cell* cell) { cell->next_spare = std::exchange(spare_, cell); }
  Cell* PopSpare() { return std::exchange(spare_, spare_->next_spare); }

  const std::size_t capacity_;
  LeaningLock mu_;
  Atomic<std::uint64_t> state_{0};  // twice how many have been sent, and kClosed
  const std::unique_ptr<Cell*[]> ring_;
  Cell* spare_ = nullptr;
  WaitList readers_;
};

}  // namespace csp::internal

#endif  // CSP_CHAN_INTERNAL_CAST_CORE_H_
