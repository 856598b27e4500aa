// A channel's state: what all its handles share.
//
// Invariants
//  1. While a receiver waits undecided, the buffer is empty and no sender of another select waits
//     undecided; while a sender waits undecided, the buffer is full.
//  2. A value moves only after a claim has succeeded or the buffer has taken it: from the sender's
//     frame, to the receiver's frame or the buffer. Whoever is not claimed is not touched.
//  3. Close happens once. From then on nobody waits: receivers drain the buffer, senders are told.
//  4. Once `watched`, `summary` says, after each change under the lock, whether a receive or a send
//     would be ready. A list that holds only decided waiters still counts as ready: then the look
//     under the lock finds nobody, empties the list, and puts the summary right.
//
// Lock: `mu` guards everything but `references`; `watched` and `summary` are read without it. Under
// it: values move into and out of the buffer (T's move constructor and destructor may not throw,
// and may not use csp). A hand-over from frame to frame happens outside of it. Wakes happen after
// it has been released.
//
// Memory ordering (Go's): a send happens before the receive that gets the value; the k-th receive
// happens before the (k + capacity)-th send completes; close happens before a receive that sees it.
#ifndef CSP_CHAN_INTERNAL_CORE_H_
#define CSP_CHAN_INTERNAL_CORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "csp/base/atomic.h"
#include "csp/base/leaning_lock.h"
#include "csp/chan/internal/buffer.h"
#include "csp/chan/internal/counted_ptr.h"
#include "csp/select/summary.h"
#include "csp/select/wait_list.h"

namespace csp::internal {

enum class Passed : std::uint8_t { kYes, kNo, kClosed };

template <class T>
class Core {
 public:
  static constexpr std::uint64_t kCanRecv = 1;
  static constexpr std::uint64_t kCanSend = 2;

  explicit Core(std::size_t capacity) : buffer(capacity) {}

  // The summary, for a select. It is kept up to date only from the first call on: most channels
  // never are selected on, and plain operations on them do without.
  const Summary& Watch() {
    if (!watched.load(std::memory_order_acquire)) {
      const std::lock_guard lock(mu);
      PutSummary();
      watched.store(true, std::memory_order_release);  // pairs with the acquire above
    }
    return summary;
  }

  // A send that does not wait. kNo and kClosed leave `value` as it is.
  Passed TrySend(T& value) {
    return SendOr(CurrentThread(), value, []() -> Waiter* { return nullptr; });
  }

  // A send, or a place to wait for one: if it cannot be done, links the waiter that `arm()`
  // returns, if any. The waiter's slot is `value`.
  template <class Arm>
  Passed SendOr(ThreadContext* thread, T& value, Arm arm) {
    LeaningLock::Hold lock(mu, thread);
    if (closed) return Passed::kClosed;
    if (Waiter* receiver = receivers.PopClaimed()) {
      Summarize();
      lock.Release();
      static_cast<std::optional<T>*>(receiver->slot)->emplace(std::move(value));
      receiver->Wake(thread);
      return Passed::kYes;
    }
    if (buffer.full()) {
      if (Waiter* waiter = arm()) senders.PushBack(*waiter);
      Summarize();
      return Passed::kNo;
    }
    if (buffer.NeedsChunk()) [[unlikely]] {
      lock.Release();
      AddChunk(thread);
      return SendOr(thread, value, arm);
    }
    buffer.Push(std::move(value));
    Summarize();
    return Passed::kYes;
  }

  // A receive that does not wait. kClosed: closed and drained. `out` is empty before.
  Passed TryRecv(std::optional<T>& out) {
    return RecvOr(CurrentThread(), out, []() -> Waiter* { return nullptr; });
  }

  // The same for a receive; the waiter's slot is `out`.
  template <class Arm>
  Passed RecvOr(ThreadContext* thread, std::optional<T>& out, Arm arm) {
    LeaningLock::Hold lock(mu, thread);
    if (!buffer.empty()) {
      out.emplace(std::move(buffer.front()));
      buffer.Pop();
      Waiter* sender = senders.PopClaimed();
      if (sender != nullptr) {
        buffer.Push(std::move(*static_cast<T*>(sender->slot)));
        sender->ok = true;
      }
      Summarize();
      lock.Release();
      if (sender != nullptr) sender->Wake(thread);
      return Passed::kYes;
    }
    if (Waiter* sender = senders.PopClaimed()) {  // unbuffered
      Summarize();
      lock.Release();
      out.emplace(std::move(*static_cast<T*>(sender->slot)));
      sender->ok = true;
      sender->Wake(thread);
      return Passed::kYes;
    }
    if (closed) return Passed::kClosed;
    if (Waiter* waiter = arm()) receivers.PushBack(*waiter);
    Summarize();
    return Passed::kNo;
  }

  // Select's second look: true if `waiter` has been linked, false if the operation may be ready.
  bool ArmSend(Waiter& waiter) {
    const std::lock_guard lock(mu);
    if (closed || !buffer.full() || receivers.HasRival(waiter.parker())) return false;
    senders.PushBack(waiter);
    Summarize();
    return true;
  }
  bool ArmRecv(Waiter& waiter) {
    const std::lock_guard lock(mu);
    if (closed || !buffer.empty() || senders.HasRival(waiter.parker())) return false;
    receivers.PushBack(waiter);
    Summarize();
    return true;
  }
  // True if the waiter was linked still.
  bool DisarmSend(Waiter& waiter) { return Unlink(senders, waiter); }
  bool DisarmRecv(Waiter& waiter) { return Unlink(receivers, waiter); }

  // False if it was closed before.
  bool Close() {
    WakeList wake;
    {
      const std::lock_guard lock(mu);
      if (closed) return false;
      closed = true;
      wake.Claim(receivers, false);
      wake.Claim(senders, false);
      Summarize();
    }
    wake.WakeAll();
    return true;
  }

  std::size_t size() const {
    const std::lock_guard lock(mu);
    return buffer.size();
  }
  std::size_t capacity() const { return buffer.capacity(); }

  Atomic<std::size_t> references{1};

 private:
  // Allocates outside of the lock; somebody may be quicker.
  [[gnu::noinline]] void AddChunk(ThreadContext* thread) {
    std::unique_ptr<typename Buffer<T>::Chunk> chunk = Buffer<T>::MakeChunk();
    const LeaningLock::Hold lock(mu, thread);
    if (buffer.NeedsChunk()) buffer.AddChunk(std::move(chunk));
  }

  bool Unlink(WaitList& list, Waiter& waiter) {
    const std::lock_guard lock(mu);
    const bool linked = waiter.linked();
    list.Remove(waiter);
    Summarize();
    return linked;
  }

  void Summarize() {
    if (watched.load(std::memory_order_relaxed)) PutSummary();
  }
  void PutSummary() {
    std::uint64_t ready = 0;
    if (closed || !buffer.empty() || !senders.empty()) ready |= kCanRecv;
    if (closed || !buffer.full() || !receivers.empty()) ready |= kCanSend;
    summary.Set(ready);
  }

  mutable LeaningLock mu;
  bool closed = false;
  Atomic<bool> watched{false};  // a select has asked for the summary
  Summary summary;
  WaitList receivers;
  WaitList senders;
  Buffer<T> buffer;
};

template <class T>
using CorePtr = CountedPtr<Core<T>>;

}  // namespace csp::internal

#endif  // CSP_CHAN_INTERNAL_CORE_H_
