// Memory for task records: one allocation a Go, on the path that every spawn takes.
//
//   cache (a worker's)     two magazines a size: allocating and freeing touch nothing shared
//   depot (the process's)  full magazines, under a mutex, one visit in kMagazine records
//   block (2 MiB)          what magazines are filled from, and what goes back to the system
//
// A record is often freed by another worker than the one that made it (it was stolen, or its
// joiner lives elsewhere). With the C library's allocator that costs a lock, and a foreign cache
// line, each time; here the records change hands by the magazine.
//
// Invariants
//  1. A record is in exactly one place: in use, in a cache, in the depot, or in its block.
//  2. Only its thread touches a cache; everything else is guarded by the depot's mutex.
//  3. Memory goes back only by Trim, when the program is idle, as that of stacks (fiber_pool.h).
//
// Source of the two magazines: Bonwick and Adams, "Magazines and Vmem", USENIX 2001.
#ifndef CSP_SCHED_RECORD_POOL_H_
#define CSP_SCHED_RECORD_POOL_H_

#include <cstddef>
#include <cstdint>

#include "csp/base/thread_context.h"

namespace csp::internal {

// Sizes are rounded up to a multiple of kGrain; what is larger than kMaxPooled comes from the
// global allocator.
inline constexpr std::size_t kRecordGrain = 32;
inline constexpr std::size_t kMaxPooledRecord = 512;
inline constexpr std::size_t kRecordSizes = kMaxPooledRecord / kRecordGrain;

// A free record.
struct FreeRecord {
  FreeRecord* next;           // in its magazine or block
  FreeRecord* next_magazine;  // in the depot; of a magazine's first record
};

class RecordCache {
 public:
  RecordCache() = default;
  ~RecordCache();
  RecordCache(const RecordCache&) = delete;
  RecordCache& operator=(const RecordCache&) = delete;

  // `size` is the index of a size. Throws std::bad_alloc.
  void* Take(std::size_t size) {
    Shelf& shelf = shelves_[size];
    if (shelf.loaded == nullptr) [[unlikely]] {
      Reload(shelf, size);
    }
    FreeRecord* record = shelf.loaded;
    shelf.loaded = record->next;
    --shelf.count;
    return record;
  }

  void Put(void* memory, std::size_t size) {
    Shelf& shelf = shelves_[size];
    if (shelf.count == kMagazine) [[unlikely]] {
      Unload(shelf, size);
    }
    auto* record = static_cast<FreeRecord*>(memory);
    record->next = shelf.loaded;
    shelf.loaded = record;
    ++shelf.count;
  }

  static constexpr std::uint32_t kMagazine = 32;

 private:
  struct Shelf {
    FreeRecord* loaded = nullptr;
    FreeRecord* spare = nullptr;  // full, or null
    std::uint32_t count = 0;      // in `loaded`
  };

  static void Reload(Shelf& shelf, std::size_t size);
  static void Unload(Shelf& shelf, std::size_t size);

  Shelf shelves_[kRecordSizes];
};

// Memory for a record of `bytes`, aligned as by operator new. From any thread. Throws
// std::bad_alloc.
void* AllocateRecord(std::size_t bytes);
// Gives it back, from any thread; `bytes` as it was allocated.
void ReleaseRecord(void* record, std::size_t bytes) noexcept;

// Gives free memory back to the system, at most `limit` magazines of it now, down to a small stock
// of each size. Returns how many it was.
std::size_t TrimRecords(std::size_t limit);

}  // namespace csp::internal

#endif  // CSP_SCHED_RECORD_POOL_H_
