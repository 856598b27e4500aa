#include "csp/cls/internal/local_base.h"

#include <cstdio>
#include <cstdlib>

#include "csp/base/panic.h"

namespace csp::internal {
namespace {

constinit Atomic<std::uint32_t> last_number{0};
constinit Atomic<KeptInitialiser*> kept{nullptr};

void CheckNotBusy(void* root, std::uint32_t id, const char* call) {
  const LocalTable* table = TableIn(root);
  if (table == nullptr || table->busy == nullptr || !table->IsBusy(id)) return;
  throw Panic(std::string(call) +
              ": the value is just being made or destroyed; its initialiser, copy constructor and "
              "destructor may not use the same Local this way");
}

}  // namespace

std::uint32_t LocalBase::Number() const {
  std::uint32_t id = id_.load(std::memory_order_relaxed);
  if (id != 0) return id;
  // relaxed: the number is all there is. Who loses the race wastes one.
  const std::uint32_t drawn = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  return id_.compare_exchange_strong(id, drawn, std::memory_order_relaxed) ? drawn : id;
}

void* LocalBase::MakeValue() const {
  const std::uint32_t id = Number();
  void*& root = LocalsRoot();
  CheckNotBusy(root, id, "Local");
  LocalTable* table = EnsureSlot(root, id);
  LocalBox* box = table->slots()[id].box;
  if (box != nullptr && box->unique()) {
    ExchangeLocal(root, id, {box, true});
    return box->value();
  }
  if (box == nullptr) box = table->FindInherited(id);
  const BusyLocal busy(root, id);  // so `box` stays where it is
  LocalBox* made = box != nullptr ? LocalBox::Make(*type_, type_->copy, box->value())
                                  : LocalBox::Make(*type_, make_, from_);
  const HeldLocal closed = ExchangeLocal(root, id, {made, true});
  if (closed.box != nullptr) closed.box->Drop();
  return made->value();
}

void* LocalBase::FindAssignable() const {
  LocalTable* table = TableIn(LocalsRoot());
  if (table == nullptr) return nullptr;
  const std::uint32_t id = id_.load(std::memory_order_relaxed);
  LocalSlot* slot = table->Find(id);
  if (slot == nullptr || slot->box == nullptr) return nullptr;
  CheckNotBusy(table, id, "Local::Set");
  if (slot->value != nullptr) return slot->value;
  if (!slot->box->unique()) return nullptr;
  table->changed = true;
  return slot->box->value();
}

void LocalBase::StoreValue(MakeLocal make, const void* from) const {
  const std::uint32_t id = Number();
  void*& root = LocalsRoot();
  CheckNotBusy(root, id, "Local::Set");
  EnsureSlot(root, id);
  LocalBox* made = LocalBox::Make(*type_, make, from);
  const HeldLocal last = ExchangeLocal(root, id, {made, type_->copy == nullptr});
  if (last.box != nullptr) last.box->Drop();
}

LocalBase::BindBase::BindBase(const LocalBase& local, MakeLocal make, const void* from)
    : root_(LocalsRoot()), id_(local.Number()) {
  CheckNotBusy(root_, id_, "Local::Bind");
  EnsureSlot(root_, id_);
  LocalBox* made = LocalBox::Make(*local.type_, make, from);
  below_ = ExchangeLocal(root_, id_, {made, local.type_->copy == nullptr});
}

LocalBase::BindBase::~BindBase() {
  if (&LocalsRoot() != &root_) {
    std::fputs(
        "csp: Local::Bind: made on one fiber or thread and destroyed on another; keep it on "
        "the stack\n",
        stderr);
    std::abort();
  }
  EnsureSlot(root_, id_);  // there, unless it outlived the fiber's locals
  const HeldLocal bound = ExchangeLocal(root_, id_, below_);
  if (bound.box != nullptr) bound.box->Drop();
}

void KeepInitialiser(KeptInitialiser* initialiser) {
  // So that leak checkers find it; nobody reads the list.
  initialiser->next = kept.load(std::memory_order_relaxed);
  while (!kept.compare_exchange_weak(initialiser->next, initialiser, std::memory_order_release,
                                     std::memory_order_relaxed)) {
  }
}

void ThrowNoInitialValue() {
  throw Panic(
      "Local: there is no value, and its type has no default constructor; Set or Bind one first, "
      "or "
      "give the Local an initialiser");
}

}  // namespace csp::internal
