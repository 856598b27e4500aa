// The memory of a model: what each atomic variable holds for each thread, who
// wrote it, and what happens before what.
//
// Invariants
//  1. The variable itself holds what all threads see. In store-buffer mode a
//     thread's own newer values are in its buffer, oldest first, and leave it
//     in that order.
//  2. A write is known by a number that follows from the writing thread and its
//     count of steps alone. Two executions in which every read has read from
//     the same write, and every variable was last written by the same write,
//     are in the same state, whatever the order of their steps: `hash` is the
//     memory's part of that (model_execution.h has the threads').
//  3. Clocks are C++'s happens-before: an acquire that reads a release, or a
//     read-modify-write chain headed by one, joins the releasing thread's
//     clock; relaxed accesses join nothing.
#ifndef CSP_TESTING_INTERNAL_MODEL_MEMORY_H_
#define CSP_TESTING_INTERNAL_MODEL_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "csp/testing/internal/model_hooks.h"

namespace csp::testing::internal {

// Spreads `value` into `seed`. 64 bits suffice: with 10^7 states, two of them
// collide with a probability of about 10^-6.
std::uint64_t MixHash(std::uint64_t seed, std::uint64_t value);

// Per thread, how much of it has happened before.
struct ModelClock {
  std::array<std::uint32_t, kMaxModelThreads> at{};

  void Join(const ModelClock& other);
};

class ModelMemory {
 public:
  // A value, and the number of the write that it comes from; 0: the initial.
  struct Value {
    std::uint64_t bits = 0;
    std::uint64_t write = 0;
  };

  // Forgets all variables. Called before each execution.
  void Reset();

  // The number of a variable in this execution.
  std::uint32_t Locate(const AtomicRef& atomic);

  // What `thread` would read now.
  Value Visible(int thread, std::uint32_t location) const;

  Value Load(int thread, ModelClock& clock, std::uint32_t location, std::memory_order order);

  // Visible to all at once.
  void Store(const ModelClock& clock, std::uint32_t location, Value value, std::memory_order order);

  // Visible to `thread` only, until drained.
  void Buffer(int thread, const ModelClock& clock, std::uint32_t location, Value value,
              std::memory_order order);
  bool buffering(int thread) const { return !buffers_[thread].empty(); }
  // The variable that the oldest store is to.
  const void* FirstBuffered(int thread) const { return address(buffers_[thread].front().location); }
  template <class Visit>
  void ForEachBuffered(int thread, Visit visit) const {
    for (const Buffered& store : buffers_[thread]) visit(address(store.location));
  }
  // The location and value that became visible.
  std::pair<std::uint32_t, std::uint64_t> DrainOne(int thread);
  std::uint32_t DrainAll(int thread);  // returns how many

  // A read-modify-write has changed the variable (`write` != 0) or only read
  // it. Returns the write that it has read from.
  std::uint64_t Update(ModelClock& clock, std::uint32_t location, std::uint64_t write,
                       std::memory_order order);

  // A thread that still buffers a store to `location`; -1 if none does.
  int BufferingThread(std::uint32_t location) const;
  void Destroy(std::uint32_t location) { locations_[location].alive = false; }

  bool alive(std::uint32_t location) const { return locations_[location].alive; }
  const void* address(std::uint32_t location) const { return locations_[location].value; }
  unsigned size(std::uint32_t location) const { return locations_[location].size; }
  std::uint64_t hash() const { return hash_; }
  std::uint32_t execution() const { return execution_; }

 private:
  struct Location {
    void* value;
    unsigned size;
    bool alive = true;
    std::uint64_t write = 0;  // the last one
    ModelClock released{};    // what its reader acquires
  };
  struct Buffered {
    std::uint32_t location;
    Value value;
    ModelClock released;
  };

  void Write(std::uint32_t location, Value value, const ModelClock& released);
  void SetWrite(Location& location, std::uint64_t write);

  std::uint32_t execution_ = 0;
  std::vector<Location> locations_;
  std::deque<Buffered> buffers_[kMaxModelThreads];
  std::uint64_t hash_ = 0;
};

}  // namespace csp::testing::internal

#endif  // CSP_TESTING_INTERNAL_MODEL_MEMORY_H_
