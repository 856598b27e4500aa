// The locals of one fiber, or of one plain thread: a table indexed by the number of the Local.
//
// The owner keeps one word, the *root*: null, a LocalTable, or (low bit set) a LocalSnapshot of
// inherited values that nobody has wanted to change yet.
//
//   open     the owner has, or may have, a mutable reference to the value; its box is the owner's
//            alone. Every value of a Local that is not inherited is open.
//   closed   a value put there by Set or Bind, not accessed since: its box may be shared, so
//            children get it for a reference.
//
// What children get is a snapshot: immutable, counted, made when a Go finds that something has
// changed, and then handed to all later children as one pointer. An open value may have been
// changed through a reference that the owner keeps, so it is looked at by every Go: compared with
// what the last child got where that is possible, else copied.
//
// Rejected: a linked chain of nodes, the newest first. It saves building a snapshot, but each
// lookup walks it, and a value set again and again lengthens it without end unless it is rebuilt,
// too. Rejected: noting an access instead of comparing. A reference kept over a Go would then
// change a value without the next child's seeing it.
//
// Invariants
//  1. Only the owner touches its root and table.
//  2. The user's code (constructors, copies, destructors) may suspend, move to another thread, and
//     use locals, which may move the table. After it everything is read anew from the root. The
//     root's own address is good: a fiber keeps its control block, and a plain thread does not
//     move.
//  3. An open box has one reference.
//  4. Slot 0 heads the ring of the slots in use, in the order of creation; Locals count from 1.
#ifndef CSP_CLS_INTERNAL_SLOT_TABLE_H_
#define CSP_CLS_INTERNAL_SLOT_TABLE_H_

#include <cstdint>
#include <utility>

#include "csp/base/atomic.h"
#include "csp/base/thread_context.h"
#include "csp/cls/internal/local_box.h"
#include "csp/sched/internal/fiber.h"

namespace csp::internal {

class LocalSnapshot {
 public:
  // `size` slots, all empty.
  static LocalSnapshot* Make(std::uint32_t size);

  std::uint32_t size() const { return size_; }
  LocalBox*& operator[](std::uint32_t id) { return reinterpret_cast<LocalBox**>(this + 1)[id]; }
  LocalBox* Find(std::uint32_t id) { return id < size_ ? (*this)[id] : nullptr; }

  // `count` references more; relaxed as in LocalBox.
  void Share(std::uint64_t count = 1) { references_.fetch_add(count, std::memory_order_relaxed); }
  // Gives references up. May run destructors of values.
  void Drop(std::uint64_t count = 1);

 private:
  explicit LocalSnapshot(std::uint32_t size) : size_(size) {}

  Atomic<std::uint64_t> references_{1};
  const std::uint32_t size_;
};

inline bool IsSnapshot(const void* root) {
  return (reinterpret_cast<std::uintptr_t>(root) & 1) != 0;
}
inline LocalSnapshot* SnapshotIn(void* root) {
  return reinterpret_cast<LocalSnapshot*>(static_cast<char*>(root) - 1);
}
inline void* RootOf(LocalSnapshot* snapshot) {
  return snapshot != nullptr ? reinterpret_cast<char*>(snapshot) + 1 : nullptr;
}

struct LocalSlot {
  void* value;    // if open
  LocalBox* box;  // null: nothing here
  std::uint32_t older, newer;
};

// A box on its way in or out of a slot, with its reference.
struct HeldLocal {
  LocalBox* box = nullptr;
  bool open = false;
};

struct LocalTable {
  // A Local whose value is being made or destroyed right now; on the owner's stack.
  struct Busy {
    std::uint32_t id;  // kSnapshot: a snapshot is being made
    Busy* outer;
  };
  static constexpr std::uint32_t kSnapshot = 0;
  static constexpr std::uint32_t kStock = 256;

  std::uint32_t size;                // slots, slot 0 included
  std::uint32_t open_inherited = 0;  // open values that children inherit
  std::uint32_t stock = 0;           // references to `given` that are bought, but not handed out
  bool changed = false;              // since `given`, other than through open values
  bool ending = false;               // its values are being destroyed
  LocalSnapshot* inherited;          // from the parent; null if nothing
  LocalSnapshot* given;              // what children get, if nothing has changed; null if nothing
  Busy* busy = nullptr;

  // A reference to `given`, for a child. Buys them by the hundred: an atomic operation, and the
  // cache line for which the ends of the children compete, once in so many.
  void* Give() {
    if (given == nullptr) return nullptr;
    if (stock == 0) {
      stock = kStock;
      given->Share(kStock);
    }
    --stock;
    return RootOf(given);
  }
  // Replaces `given`.
  void SetGiven(LocalSnapshot* snapshot) {
    LocalSnapshot* last = std::exchange(given, snapshot);
    const std::uint32_t unsold = std::exchange(stock, 0);
    if (last != nullptr) last->Drop(1 + unsold);
  }

  LocalSlot* slots() { return reinterpret_cast<LocalSlot*>(this + 1); }
  LocalSlot* Find(std::uint32_t id) { return id < size ? &slots()[id] : nullptr; }
  LocalBox* FindInherited(std::uint32_t id) {
    return inherited != nullptr ? inherited->Find(id) : nullptr;
  }
  bool IsBusy(std::uint32_t id) const {
    for (const Busy* entry = busy; entry != nullptr; entry = entry->outer) {
      if (entry->id == id) return true;
    }
    return false;
  }
};

// The root of the calling fiber; on a plain thread that of the thread, or of the fiber that has lent
// it one.
inline void*& LocalsRoot(ThreadContext* thread) {
  Parker* parker = thread->parker;
  if (parker != nullptr && parker->kind() == Parker::Kind::kFiber) [[likely]] {
    return static_cast<Fiber*>(parker)->locals;
  }
  return thread->lent != nullptr ? *thread->lent : thread->locals;
}
inline void*& LocalsRoot() { return LocalsRoot(CurrentThread()); }

// Null if there is none.
inline LocalTable* TableIn(void* root) {
  return IsSnapshot(root) ? nullptr : static_cast<LocalTable*>(root);
}

// The mutable value of the Local with this number in the calling fiber or thread; null if it has
// to be made first. 0, a number not yet given out, has no value.
void* FindLocal(std::uint32_t id);

// The same without making or copying: what there is, own or inherited; null if nothing.
const void* PeekLocal(std::uint32_t id);

// Makes sure that there is a table with the slot. Throws std::bad_alloc.
LocalTable* EnsureSlot(void*& root, std::uint32_t id);

// Puts `next` into the slot, which there is, and returns what was in it. A box that comes into an
// empty slot is the youngest; one that replaces another takes over its age.
HeldLocal ExchangeLocal(void* root, std::uint32_t id, HeldLocal next);

// Marks a Local as busy for as long as it lives.
class BusyLocal {
 public:
  BusyLocal(void*& root, std::uint32_t id) : root_(root), entry_{id, TableIn(root)->busy} {
    TableIn(root_)->busy = &entry_;
  }
  ~BusyLocal() { TableIn(root_)->busy = entry_.outer; }
  BusyLocal(const BusyLocal&) = delete;
  BusyLocal& operator=(const BusyLocal&) = delete;

 private:
  void*& root_;
  LocalTable::Busy entry_;
};

// A counted reference to what a child inherits of what hangs on the root, which is not null. May
// copy values.
void* InheritFrom(void*& root);

// Destroys all that hangs on the root, the youngest first.
void DestroyLocals(void*& root);

// The calling plain thread has got its first local: they are destroyed when it exits.
void DestroyLocalsAtThreadExit();

}  // namespace csp::internal

#endif  // CSP_CLS_INTERNAL_SLOT_TABLE_H_
