#include "csp/cls/internal/slot_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

#include "csp/base/thread_context.h"
#include "csp/sched/internal/fiber.h"

namespace csp::internal {
namespace {

constexpr std::uint32_t kFirstSize = 8;

std::size_t TableBytes(std::uint32_t size) { return sizeof(LocalTable) + size * sizeof(LocalSlot); }

// A table grows by copying its bytes.
static_assert(std::is_trivially_copyable_v<LocalTable> && std::is_trivially_copyable_v<LocalSlot>);
static_assert(sizeof(LocalTable) % alignof(LocalSlot) == 0);
static_assert(sizeof(LocalSnapshot) % alignof(LocalBox*) == 0);

bool NeedsAlignedNew(const LocalType& type) {
  return type.alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__;
}

void Unlink(LocalTable& table, LocalSlot& slot) {
  table.slots()[slot.older].newer = slot.newer;
  table.slots()[slot.newer].older = slot.older;
}

void LinkAsYoungest(LocalTable& table, std::uint32_t id) {
  LocalSlot& head = table.slots()[0];
  LocalSlot& slot = table.slots()[id];
  slot.older = head.older;
  slot.newer = 0;
  table.slots()[slot.older].newer = id;
  head.older = id;
}

bool IsInherited(const HeldLocal& held) {
  return held.box != nullptr && held.box->type().copy != nullptr;
}

}  // namespace

LocalBox* LocalBox::Make(const LocalType& type, MakeLocal make, const void* from) {
  const std::size_t bytes = ValueOffset(type) + type.size;
  void* memory = NeedsAlignedNew(type) ? ::operator new (bytes, std::align_val_t{type.alignment})
                                       : ::operator new(bytes);
  auto* box = new (memory) LocalBox(type);
  try {
    make(box->value(), from);
  } catch (...) {
    box->Free();
    throw;
  }
  return box;
}

void LocalBox::Free() {
  const LocalType& type = *type_;
  if (NeedsAlignedNew(type)) {
    ::operator delete (static_cast<void*>(this), std::align_val_t{type.alignment});
  } else {
    ::operator delete(static_cast<void*>(this));
  }
}

LocalSnapshot* LocalSnapshot::Make(std::uint32_t size) {
  void* memory = ::operator new(sizeof(LocalSnapshot) + size * sizeof(void*));
  auto* snapshot = new (memory) LocalSnapshot(size);
  for (std::uint32_t id = 0; id < size; ++id) new (&(*snapshot)[id]) LocalBox*(nullptr);
  return snapshot;
}

void LocalSnapshot::Drop(std::uint64_t count) {
  if (references_.fetch_sub(count, std::memory_order_acq_rel) != count) return;
  for (std::uint32_t id = size_; id-- > 0;) {
    if (LocalBox* box = (*this)[id]) box->Drop();
  }
  ::operator delete(static_cast<void*>(this));
}

void* FindLocal(std::uint32_t id) {
  LocalTable* table = TableIn(LocalsRoot());
  if (table == nullptr || id >= table->size) [[unlikely]] {
    return nullptr;
  }
  return table->slots()[id].value;
}

const void* PeekLocal(std::uint32_t id) {
  void* root = LocalsRoot();
  if (root == nullptr) return nullptr;
  const LocalBox* box = nullptr;
  if (IsSnapshot(root)) {
    box = SnapshotIn(root)->Find(id);
  } else {
    LocalTable* table = TableIn(root);
    const LocalSlot* slot = table->Find(id);
    box = slot != nullptr && slot->box != nullptr ? slot->box : table->FindInherited(id);
  }
  return box != nullptr ? box->value() : nullptr;
}

LocalTable* EnsureSlot(void*& root, std::uint32_t id) {
  LocalTable* old = TableIn(root);
  if (old != nullptr && id < old->size) return old;
  const std::uint32_t size = std::max(kFirstSize, std::bit_ceil(id + 1));
  void* memory = ::operator new(TableBytes(size));
  std::memset(memory, 0, TableBytes(size));
  if (old != nullptr) {
    std::memcpy(memory, old, TableBytes(old->size));
    auto* table = static_cast<LocalTable*>(memory);
    table->size = size;
    root = table;
    ::operator delete(old);
    return table;
  }
  LocalSnapshot* inherited = root != nullptr ? SnapshotIn(root) : nullptr;
  if (inherited != nullptr) inherited->Share();  // once as `inherited`, once as `given`
  if (root == nullptr && Fiber::Current() == nullptr) DestroyLocalsAtThreadExit();
  auto* table = new (memory) LocalTable{.size = size, .inherited = inherited, .given = inherited};
  root = table;
  return table;
}

HeldLocal ExchangeLocal(void* root, std::uint32_t id, HeldLocal next) {
  LocalTable& table = *TableIn(root);
  LocalSlot& slot = table.slots()[id];
  const HeldLocal last = {slot.box, slot.value != nullptr};
  if (IsInherited(last)) {
    table.changed = true;
    if (last.open) --table.open_inherited;
  }
  if (IsInherited(next)) {
    table.changed = true;
    if (next.open) ++table.open_inherited;
  }
  slot.box = next.box;
  slot.value = next.open ? next.box->value() : nullptr;
  if (last.box == nullptr && next.box != nullptr) LinkAsYoungest(table, id);
  if (last.box != nullptr && next.box == nullptr) Unlink(table, slot);
  return last;
}

}  // namespace csp::internal
