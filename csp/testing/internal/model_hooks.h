// What an atomic of a model test tells the explorer. model_atomic.h calls these
// functions; model_execution.cc answers. Outside a model thread (in set-up code
// of a test, in a static initializer) they act on the variable and do nothing
// else.
//
// None of them throws and none allocates what its caller would have to free: an
// execution that fails is left where it stands, without unwinding.
#ifndef CSP_TESTING_INTERNAL_MODEL_HOOKS_H_
#define CSP_TESTING_INTERNAL_MODEL_HOOKS_H_

#include <atomic>
#include <cstdint>

namespace csp::testing::internal {

// At most so many threads in a model, the test's own body (number 0) included.
inline constexpr int kMaxModelThreads = 8;

// Inside every atomic: where the explorer keeps what it knows of it. A number
// of another execution means that this one has not met the atomic yet, so a new
// object at an old address is a new location.
struct AtomicSlot {
  std::uint32_t execution = 0;
  std::uint32_t location = 0;
};

// An Atomic<T> without its type: values travel as bits.
struct AtomicRef {
  void* value;
  AtomicSlot* slot;
  unsigned size;
};

// What a step of a thread is; the schedule of a failure prints it.
enum class ModelOp : std::uint8_t {
  kNone,
  kLoad,
  kStore,
  kExchange,
  kCompareExchange,
  kFetchAdd,
  kFetchSub,
  kFetchAnd,
  kFetchOr,
  kFetchXor,
  kRelax,    // CpuRelax
  kBarrier,  // HeavyBarrier
  kEnd,      // the atomic's destructor
  kDrain,    // a store leaves the store buffer and becomes visible
  kChoose,   // ModelRun::Choose, or a compare-exchange that may fail by itself
};

std::uint64_t AtomicLoad(const AtomicRef& atomic, std::memory_order order);
void AtomicStore(const AtomicRef& atomic, std::uint64_t bits, std::memory_order order);

// A read-modify-write is a pair of calls around the operation itself: no other
// thread runs in between. `wrote` is false for a compare-exchange that failed.
void AtomicBeginUpdate(const AtomicRef& atomic, ModelOp op);
void AtomicEndUpdate(const AtomicRef& atomic, std::uint64_t old, bool wrote,
                     std::memory_order order);

// Whether a weak compare-exchange that could succeed is to fail in this run.
bool AtomicFailsSpuriously();

void AtomicDestroyed(const AtomicRef& atomic);

// CpuRelax and HeavyBarrier: see model.h.
void Relax();
void HeavyBarrier();

// The accesses of a ModelPlain variable: fails the execution on a data race.
struct PlainSlot {
  std::uint32_t execution = 0;
  std::uint8_t writer = 0;
  std::uint32_t written = 0;                  // the writer's time
  std::uint32_t read[kMaxModelThreads] = {};  // each reader's time; 0: none
};
void PlainRead(PlainSlot& slot, const void* address);
void PlainWrite(PlainSlot& slot, const void* address);

}  // namespace csp::testing::internal

#endif  // CSP_TESTING_INTERNAL_MODEL_HOOKS_H_
