// What a step of a model thread does: the atomics' side of ModelExecution.
#include <cstring>

#include "csp/testing/internal/model_execution.h"

namespace csp::testing::internal {

int ModelExecution::Choose(int ways) {
  const int choice = merged_ ? 0 : path_.Next(ways);
  if (choice < 0) Fail("the model does not repeat itself: rule 1 of model.h");
  trace_.Add({.thread = static_cast<std::uint8_t>(running_),
              .op = ModelOp::kChoose,
              .effect = ModelStep::Effect::kNone,
              .address = nullptr,
              .old = 0,
              .value = static_cast<std::uint64_t>(choice)});
  EndStep(static_cast<std::uint64_t>(choice));
  return choice;
}

std::uint32_t ModelExecution::Locate(const AtomicRef& atomic) {
  const std::uint32_t location = memory_.Locate(atomic);
  if (!memory_.alive(location)) {
    Fail("an atomic is used after its end: " + trace_.Address(atomic.value));
  }
  return location;
}

// Lets the explorer say who goes first. The body is alone while it runs.
void ModelExecution::Point(ModelOp op, const void* address, bool flushes) {
  if (running_ == 0) return;
  Thread& thread = self();
  thread.next = op;
  thread.next_address = address;
  thread.next_flushes = flushes;
  thread.fiber.Suspend();
  thread.next = ModelOp::kNone;
}

// No two writes of an execution have the same, and that of 0 is nobody's.
std::uint64_t ModelExecution::NextWrite() {
  return MixHash(static_cast<std::uint64_t>(running_) + 1, self().steps) | 1;
}

void ModelExecution::EndStep(std::uint64_t what_it_saw) {
  Thread& thread = self();
  thread.history = MixHash(thread.history, what_it_saw);
  ++thread.steps;
  ++thread.clock.at[running_];
}

void ModelExecution::See(std::uint32_t location, std::uint64_t bits, bool own_write) {
  Thread& thread = self();
  for (Seen& seen : thread.seen) {
    if (seen.location != location) continue;
    if (seen.bits != bits && !own_write) thread.seen_change = true;
    seen.bits = bits;
    return;
  }
  if (!own_write) thread.seen.push_back({location, bits});
}

void ModelExecution::Record(ModelOp op, ModelStep::Effect effect, const AtomicRef& atomic,
                            std::uint64_t old, std::uint64_t value) {
  if (running_ == 0) return;
  trace_.Add({.thread = static_cast<std::uint8_t>(running_),
              .op = op,
              .effect = effect,
              .address = atomic.value,
              .old = old,
              .value = value});
}

std::uint64_t ModelExecution::Load(const AtomicRef& atomic, std::memory_order order) {
  Point(ModelOp::kLoad, atomic.value, false);
  const std::uint32_t location = Locate(atomic);
  const ModelMemory::Value value = memory_.Load(running_, self().clock, location, order);
  See(location, value.bits, false);
  Record(ModelOp::kLoad, ModelStep::Effect::kRead, atomic, 0, value.bits);
  EndStep(value.write);
  return value.bits;
}

void ModelExecution::Store(const AtomicRef& atomic, std::uint64_t bits, std::memory_order order) {
  const bool buffered = options_.memory == Model::Memory::kStoreBuffers &&
                        order != std::memory_order_seq_cst && running_ != 0;
  // Into the buffer, it meets nothing but a barrier, which comes before it or empties it.
  if (buffered) {
    Point(ModelOp::kStore, &self(), false);
  } else {
    Point(ModelOp::kStore, atomic.value, true);
  }
  const std::uint32_t location = Locate(atomic);
  const std::uint64_t old = memory_.Visible(running_, location).bits;
  const ModelMemory::Value value{.bits = bits, .write = NextWrite()};
  if (buffered) {
    memory_.Buffer(running_, self().clock, location, value, order);
  } else {
    DrainAll(running_);
    memory_.Store(self().clock, location, value, order);
  }
  See(location, bits, true);
  Record(ModelOp::kStore, buffered ? ModelStep::Effect::kBuffered : ModelStep::Effect::kWrote,
         atomic, old, bits);
  EndStep(0);
}

void ModelExecution::BeginUpdate(const AtomicRef& atomic, ModelOp op) {
  Point(op, atomic.value, true);
  Locate(atomic);
  DrainAll(running_);
  updating_ = op;
}

void ModelExecution::EndUpdate(const AtomicRef& atomic, std::uint64_t old, bool wrote,
                               std::memory_order order) {
  const std::uint32_t location = Locate(atomic);
  See(location, old, false);
  const std::uint64_t read = memory_.Update(self().clock, location, wrote ? NextWrite() : 0, order);
  const std::uint64_t value = memory_.Visible(running_, location).bits;
  if (wrote) See(location, value, true);
  Record(updating_, wrote ? ModelStep::Effect::kWrote : ModelStep::Effect::kRead, atomic, old,
         value);
  EndStep(MixHash(read, wrote ? 1 : 0));
}

bool ModelExecution::FailsSpuriously() {
  if (running_ == 0 || spurious_failures_ == options_.spurious_failures) {
    return false;
  }
  const int choice = merged_ ? 0 : path_.Next(2);
  if (choice < 0) Fail("the model does not repeat itself: rule 1 of model.h");
  spurious_failures_ += choice;
  return choice == 1;
}

// As a part of the step that needs it: that the stores become visible one by one, earlier, are
// other executions.
void ModelExecution::DrainAll(int thread) { threads_[thread]->drained += memory_.DrainAll(thread); }

// The processors need not do it at one instant, but each does it between the call and the return;
// who does it earlier has only chosen to let his stores become visible earlier.
void ModelExecution::HeavyBarrier() {
  if (running_ == 0 || options_.memory != Model::Memory::kStoreBuffers) return;
  Point(ModelOp::kBarrier, nullptr, true);
  for (int i = 1; i < thread_count_; ++i) DrainAll(i);
  Record(ModelOp::kBarrier, ModelStep::Effect::kNone, {nullptr, nullptr, 0}, 0, 0);
  EndStep(0);
}

void ModelExecution::Relax() {
  Thread& thread = self();
  if (thread.seen.empty()) return;
  if (running_ == 0) Fail("CpuRelax while no thread runs");
  Point(ModelOp::kRelax, nullptr, false);
  thread.seen.clear();
  thread.seen_change = false;
  EndStep(1);
}

void ModelExecution::Destroyed(const AtomicRef& atomic) {
  if (atomic.slot->execution != memory_.execution()) return;  // never used
  const std::uint32_t location = Locate(atomic);
  const int owner = memory_.BufferingThread(location);
  if (owner >= 0 && owner != running_) {
    Fail("an atomic ends while a store to it is under way in " + trace_.thread(owner) + ": " +
         trace_.Address(atomic.value));
  }
  if (owner >= 0) {
    Point(ModelOp::kEnd, atomic.value, true);
    DrainAll(running_);
    EndStep(0);
  }
  memory_.Destroy(location);
}

void ModelExecution::PlainAccess(PlainSlot& slot, const void* address, bool write) {
  if (slot.execution != memory_.execution()) {
    slot = PlainSlot{.execution = memory_.execution()};
  }
  const ModelClock& clock = self().clock;
  int other = -1;
  if (slot.written > clock.at[slot.writer]) other = slot.writer;
  for (int i = 0; write && i < kMaxModelThreads; ++i) {
    if (slot.read[i] > clock.at[i]) other = i;
  }
  if (other >= 0) {
    Fail("data race with " + trace_.thread(other) + " on " + trace_.Address(address));
  }
  if (write) {
    slot.writer = static_cast<std::uint8_t>(running_);
    slot.written = clock.at[running_];
  } else {
    slot.read[running_] = clock.at[running_];
  }
}

// The hooks. Without an execution an atomic is a variable like any other.

std::uint64_t AtomicLoad(const AtomicRef& atomic, std::memory_order order) {
  if (ModelExecution* execution = ModelExecution::Current()) {
    return execution->Load(atomic, order);
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, atomic.value, atomic.size);
  return bits;
}

void AtomicStore(const AtomicRef& atomic, std::uint64_t bits, std::memory_order order) {
  if (ModelExecution* execution = ModelExecution::Current()) {
    execution->Store(atomic, bits, order);
  } else {
    std::memcpy(atomic.value, &bits, atomic.size);
  }
}

void AtomicBeginUpdate(const AtomicRef& atomic, ModelOp op) {
  if (ModelExecution* execution = ModelExecution::Current()) {
    execution->BeginUpdate(atomic, op);
  }
}

void AtomicEndUpdate(const AtomicRef& atomic, std::uint64_t old, bool wrote,
                     std::memory_order order) {
  if (ModelExecution* execution = ModelExecution::Current()) {
    execution->EndUpdate(atomic, old, wrote, order);
  }
}

bool AtomicFailsSpuriously() {
  ModelExecution* execution = ModelExecution::Current();
  return execution != nullptr && execution->FailsSpuriously();
}

void AtomicDestroyed(const AtomicRef& atomic) {
  if (ModelExecution* execution = ModelExecution::Current()) {
    execution->Destroyed(atomic);
  }
}

void Relax() {
  if (ModelExecution* execution = ModelExecution::Current()) {
    execution->Relax();
  }
}

void HeavyBarrier() {
  if (ModelExecution* execution = ModelExecution::Current()) execution->HeavyBarrier();
}

void PlainRead(PlainSlot& slot, const void* address) {
  if (ModelExecution* execution = ModelExecution::Current()) {
    execution->PlainAccess(slot, address, false);
  }
}

void PlainWrite(PlainSlot& slot, const void* address) {
  if (ModelExecution* execution = ModelExecution::Current()) {
    execution->PlainAccess(slot, address, true);
  }
}

}  // namespace csp::testing::internal
