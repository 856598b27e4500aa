#include "csp/cls/fiber_locals.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "csp/base/panic.h"
#include "csp/base/thread_context.h"
#include "csp/cls/internal/slot_table.h"
#include "csp/sched/internal/fiber.h"

namespace csp::internal {
namespace {

// How many values destructors may make anew before it must be suspected that there is no end to it
// (two that use each other).
constexpr std::uint32_t kMostRemade = 1000;

bool IsInherited(const LocalSlot& slot) {
  return slot.box != nullptr && slot.box->type().copy != nullptr;
}

// What the last child got is still what the open value in `slot` is.
bool IsAsGiven(const LocalTable& table, std::uint32_t id, const LocalSlot& slot) {
  const LocalBox* given = table.given != nullptr ? table.given->Find(id) : nullptr;
  const LocalType& type = slot.box->type();
  return given != nullptr && type.same != nullptr && type.same(given->value(), slot.value);
}

bool AllAsGiven(LocalTable& table) {
  LocalSlot* slots = table.slots();
  for (std::uint32_t id = slots[0].newer; id != 0; id = slots[id].newer) {
    const LocalSlot& slot = slots[id];
    if (slot.value != nullptr && IsInherited(slot) && !IsAsGiven(table, id, slot)) return false;
  }
  return true;
}

// One more than the highest number that a child may inherit.
std::uint32_t SnapshotSize(LocalTable& table) {
  std::uint32_t size = table.inherited != nullptr ? table.inherited->size() : 0;
  LocalSlot* slots = table.slots();
  for (std::uint32_t id = slots[0].newer; id != 0; id = slots[id].newer) {
    if (IsInherited(slots[id])) size = std::max(size, id + 1);
  }
  return size;
}

// What the fiber itself has inherited, with a reference; null if nothing.
LocalBox* FreezeInherited(LocalTable& table, std::uint32_t id) {
  LocalBox* inherited = table.FindInherited(id);
  return inherited != nullptr ? inherited->Share() : nullptr;
}

// The value for a snapshot, with a reference. May run the user's copy constructor.
LocalBox* Freeze(LocalTable& table, std::uint32_t id) {
  const LocalSlot* slot = table.Find(id);
  // A value in the middle of its destructor cannot be copied.
  if (slot == nullptr || !IsInherited(*slot) || table.IsBusy(id)) return FreezeInherited(table, id);
  if (slot->value == nullptr) return slot->box->Share();
  if (IsAsGiven(table, id, *slot)) return (*table.given)[id]->Share();
  // At the end of a fiber nothing new may come into being: if the destructor of a copy calls Go, as
  // that of the value does, there would be no end to it.
  if (table.ending) return FreezeInherited(table, id);
  const LocalType& type = slot->box->type();
  return LocalBox::Make(type, type.copy, slot->value);
}

void* InheritChanged(void*& root) {
  LocalTable* table = TableIn(root);
  if (!table->changed && AllAsGiven(*table)) return table->Give();
  if (table->IsBusy(LocalTable::kSnapshot)) {
    throw Panic(
        "Go: called by the copy constructor of a Local's value, which Go itself has called");
  }
  const std::uint32_t size = SnapshotSize(*table);
  LocalSnapshot* made = size != 0 ? LocalSnapshot::Make(size) : nullptr;
  table->changed = false;  // what a copy constructor changes counts for the next Go
  if (made != nullptr) {
    const BusyLocal busy(root, LocalTable::kSnapshot);
    try {
      for (std::uint32_t id = 1; id < size; ++id) (*made)[id] = Freeze(*TableIn(root), id);
    } catch (...) {
      TableIn(root)->changed = true;
      made->Drop();
      throw;
    }
    made->Share();  // for the child, before destructors of what it replaces run
  }
  TableIn(root)->SetGiven(made);
  return RootOf(made);
}

// Destroys the youngest value. It can be accessed to the end of its destructor, as a thread_local
// can: a destructor that logs must not begin a new life of what the logger counts in.
void DestroyYoungest(void*& root, std::uint32_t id) {
  LocalBox* box = TableIn(root)->slots()[id].box;
  if (!box->unique()) {
    ExchangeLocal(root, id, {});
    box->Drop();
    return;
  }
  {
    ExchangeLocal(root, id, {box, true});
    const BusyLocal busy(root, id);
    box->type().destroy(box->value());
  }
  ExchangeLocal(root, id, {});
  box->Free();
}

void OnThreadExit(void*) { DestroyLocals(CurrentThread()->locals); }

// A pthread key knows nothing of the end of the main thread.
void OnProcessExit() {
  if (Fiber::Current() == nullptr) DestroyLocals(CurrentThread()->locals);
}

}  // namespace

void DestroyLocals(void*& root) {
  std::uint32_t steps = kMostRemade;
  if (LocalTable* table = TableIn(root)) steps += table->size;
  while (root != nullptr) {
    if (IsSnapshot(root)) {
      SnapshotIn(std::exchange(root, nullptr))->Drop();
      continue;
    }
    LocalTable* table = TableIn(root);
    table->ending = true;
    if (table->given != nullptr) {
      // First, so that what no child holds is the owner's alone.
      table->changed = true;
      table->SetGiven(nullptr);
    } else if (const std::uint32_t youngest = table->slots()[0].older; youngest == 0) {
      root = RootOf(table->inherited);
      ::operator delete(table);
    } else if (steps-- != 0) {
      DestroyYoungest(root, youngest);
    } else {
      std::fputs(
          "csp: Local: destructors make new values without end; the last ones are left "
          "behind\n",
          stderr);
      root = nullptr;
    }
  }
}

void DestroyLocalsAtThreadExit() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, &OnThreadExit);
    return made;
  }();
  pthread_setspecific(key, CurrentThread());  // any value but null
  if (gettid() == getpid()) std::atexit(&OnProcessExit);
}

void* InheritFrom(void*& root) {
  if (IsSnapshot(root)) {
    SnapshotIn(root)->Share();
    return root;
  }
  LocalTable* table = TableIn(root);
  if (!table->changed && table->open_inherited == 0) return table->Give();
  return InheritChanged(root);
}

void DropInheritedLocals(void* chain) {
  if (chain != nullptr) SnapshotIn(chain)->Drop();
}

void DestroyPoolThreadLocals() {
  ThreadContext* thread = CurrentThread();
  if (thread->runtime != nullptr) DestroyLocals(thread->locals);
}

void AdoptInheritedLocals(void* chain) { CurrentThread()->locals = chain; }

BorrowLocals::BorrowLocals(Parker* fiber) {
  CurrentThread()->lent = &static_cast<Fiber*>(fiber)->locals;
}
BorrowLocals::~BorrowLocals() { CurrentThread()->lent = nullptr; }

}  // namespace csp::internal
