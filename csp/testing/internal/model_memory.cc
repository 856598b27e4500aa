#include "csp/testing/internal/model_memory.h"

#include <algorithm>
#include <cstring>

namespace csp::testing::internal {
namespace {

bool Acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}

bool Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

}  // namespace

std::uint64_t MixHash(std::uint64_t seed, std::uint64_t value) {
  // Two factors: the two must not be exchangeable.
  std::uint64_t z = seed * 0x9E3779B97F4A7C15ULL + value * 0xD1342543DE82EF95ULL + 1;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

void ModelClock::Join(const ModelClock& other) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] = std::max(at[i], other.at[i]);
  }
}

void ModelMemory::Reset() {
  // Numbers go on from one exploration to the next: a static atomic must not
  // take the slot it had then for its slot of now.
  static std::uint32_t executions = 0;
  execution_ = ++executions;
  locations_.clear();
  for (auto& buffer : buffers_) buffer.clear();
  hash_ = 0;
}

std::uint32_t ModelMemory::Locate(const AtomicRef& atomic) {
  AtomicSlot& slot = *atomic.slot;
  if (slot.execution != execution_) {
    slot.execution = execution_;
    slot.location = static_cast<std::uint32_t>(locations_.size());
    locations_.push_back({.value = atomic.value, .size = atomic.size});
  }
  return slot.location;
}

ModelMemory::Value ModelMemory::Visible(int thread, std::uint32_t location) const {
  const std::deque<Buffered>& buffer = buffers_[thread];
  for (auto it = buffer.rbegin(); it != buffer.rend(); ++it) {
    if (it->location == location) return it->value;
  }
  const Location& memory = locations_[location];
  Value value{.bits = 0, .write = memory.write};
  std::memcpy(&value.bits, memory.value, memory.size);
  return value;
}

ModelMemory::Value ModelMemory::Load(int thread, ModelClock& clock, std::uint32_t location,
                                     std::memory_order order) {
  const Value value = Visible(thread, location);
  // Reading one's own buffered store joins nothing new, and what the memory
  // behind it holds was not read.
  if (value.write == locations_[location].write && Acquires(order)) {
    clock.Join(locations_[location].released);
  }
  return value;
}

void ModelMemory::Store(const ModelClock& clock, std::uint32_t location, Value value,
                        std::memory_order order) {
  Write(location, value, Releases(order) ? clock : ModelClock());
}

void ModelMemory::Buffer(int thread, const ModelClock& clock, std::uint32_t location, Value value,
                         std::memory_order order) {
  buffers_[thread].push_back({location, value, Releases(order) ? clock : ModelClock()});
}

std::pair<std::uint32_t, std::uint64_t> ModelMemory::DrainOne(int thread) {
  const Buffered store = buffers_[thread].front();
  buffers_[thread].pop_front();
  Write(store.location, store.value, store.released);
  return {store.location, store.value.bits};
}

std::uint32_t ModelMemory::DrainAll(int thread) {
  std::uint32_t drained = 0;
  for (; buffering(thread); ++drained) DrainOne(thread);
  return drained;
}

std::uint64_t ModelMemory::Update(ModelClock& clock, std::uint32_t location, std::uint64_t write,
                                  std::memory_order order) {
  Location& memory = locations_[location];
  const std::uint64_t read = memory.write;
  if (Acquires(order)) clock.Join(memory.released);
  if (write != 0) {
    // What was released stays released (a release sequence), also by a relaxed
    // update.
    if (Releases(order)) memory.released.Join(clock);
    SetWrite(memory, write);
  }
  return read;
}

int ModelMemory::BufferingThread(std::uint32_t location) const {
  for (int thread = 0; thread < kMaxModelThreads; ++thread) {
    for (const Buffered& store : buffers_[thread]) {
      if (store.location == location) return thread;
    }
  }
  return -1;
}

void ModelMemory::Write(std::uint32_t location, Value value, const ModelClock& released) {
  Location& memory = locations_[location];
  std::memcpy(memory.value, &value.bits, memory.size);
  memory.released = released;
  SetWrite(memory, value.write);
}

void ModelMemory::SetWrite(Location& location, std::uint64_t write) {
  // A sum, so that the order in which the variables were met does not count;
  // a write's number names its variable too.
  if (location.write != 0) hash_ -= MixHash(0, location.write);
  hash_ += MixHash(0, write);
  location.write = write;
}

}  // namespace csp::testing::internal
