#include "csp/sched/record_pool.h"

#include <sys/mman.h>

#include <cstdint>
#include <mutex>
#include <new>

#include "csp/base/cache_line.h"
#include "csp/base/intrusive_list.h"
#include "csp/sched/internal/sanitizer.h"

namespace csp::internal {
namespace {

// Under ASan every record is an allocation of its own, so that a use after its end is found.
constexpr bool kPooled = !kAsan;

// Magazines of each size that Trim leaves.
constexpr std::size_t kWarmMagazines = 64;

constexpr std::size_t kBlockSize = std::size_t{2} << 20;  // a huge page

// The head of a piece of memory, aligned to its size, that is cut into records of one size.
struct Block : ListNode<Block> {
  FreeRecord* free = nullptr;  // of those that have been cut
  std::uint32_t free_count = 0;
  std::uint32_t cut = 0;

  static Block* Of(void* record) {
    return reinterpret_cast<Block*>(reinterpret_cast<std::uintptr_t>(record) & ~(kBlockSize - 1));
  }
};

constexpr std::size_t kFirstRecord = (sizeof(Block) + kCacheLine - 1) / kCacheLine * kCacheLine;

// Null if the system gives none. `spike`: it will all be used at once, and is had more cheaply as
// one huge page, or at least with one call, than with a fault for each page.
Block* MapBlock(bool spike) {
  // Twice as much holds an aligned piece.
  void* memory = mmap(nullptr, 2 * kBlockSize, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* low = static_cast<char*>(memory);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(low) % kBlockSize;
  if (before != 0) munmap(low, before);
  munmap(low + before + kBlockSize, kBlockSize - before);
  if (spike) {
    madvise(low + before, kBlockSize, MADV_HUGEPAGE);
    madvise(low + before, kBlockSize, MADV_POPULATE_WRITE);
  }
  return new (low + before) Block;
}

class Depot {
 public:
  static Depot& Get() {
    static Depot* depot = new Depot;  // never destroyed: records may outlive static objects
    return *depot;
  }

  // A full magazine. Throws std::bad_alloc.
  FreeRecord* TakeMagazine(std::size_t size) {
    std::unique_lock lock(mu_);
    Size& stock = sizes_[size];
    if (FreeRecord* magazine = stock.magazines) {
      stock.magazines = magazine->next_magazine;
      --stock.magazine_count;
      return magazine;
    }
    FreeRecord* magazine = nullptr;
    for (std::uint32_t i = 0; i < RecordCache::kMagazine; ++i) {
      FreeRecord* record = CutRecord(stock, size, lock);
      if (record == nullptr) {
        PutBack(stock, size, magazine);
        throw std::bad_alloc();
      }
      record->next = magazine;
      magazine = record;
    }
    return magazine;
  }

  void PutMagazine(FreeRecord* magazine, std::size_t size) {
    const std::lock_guard lock(mu_);
    Size& stock = sizes_[size];
    magazine->next_magazine = stock.magazines;
    stock.magazines = magazine;
    ++stock.magazine_count;
  }

  // For whoever has no cache, or has one no longer.
  void* TakeOne(std::size_t size) {
    std::unique_lock lock(mu_);
    FreeRecord* record = CutRecord(sizes_[size], size, lock);
    if (record == nullptr) throw std::bad_alloc();
    return record;
  }
  void PutSome(FreeRecord* records, std::size_t size) {
    const std::lock_guard lock(mu_);
    PutBack(sizes_[size], size, records);
  }

  std::size_t Trim(std::size_t limit) {
    std::size_t trimmed = 0;
    const std::lock_guard lock(mu_);
    for (std::size_t size = 0; size < kRecordSizes; ++size) {
      Size& stock = sizes_[size];
      for (; stock.magazine_count > kWarmMagazines && trimmed < limit; ++trimmed) {
        FreeRecord* magazine = stock.magazines;
        stock.magazines = magazine->next_magazine;
        --stock.magazine_count;
        PutBack(stock, size, magazine);
      }
    }
    return trimmed;
  }

 private:
  struct Size {
    FreeRecord* magazines = nullptr;
    std::size_t magazine_count = 0;
    IntrusiveList<Block> blocks;  // with something to take
    std::size_t block_count = 0;  // all there are
  };

  static std::uint32_t RecordsPerBlock(std::size_t size) {
    return static_cast<std::uint32_t>((kBlockSize - kFirstRecord) / ((size + 1) * kRecordGrain));
  }

  // Without the lock, since mapping takes its time: another thread may add one, too. But where it
  // returns true there is one.
  static bool AddBlock(Size& stock, std::unique_lock<std::mutex>& lock) {
    const bool spike = stock.block_count != 0;
    lock.unlock();
    Block* block = MapBlock(spike);
    lock.lock();
    if (block == nullptr) return false;
    stock.blocks.PushBack(block);
    ++stock.block_count;
    return true;
  }

  // Null if there is no memory.
  static FreeRecord* CutRecord(Size& stock, std::size_t size, std::unique_lock<std::mutex>& lock) {
    if (stock.blocks.empty() && !AddBlock(stock, lock)) return nullptr;
    Block* block = stock.blocks.front();
    void* record;
    if (block->free != nullptr) {
      record = block->free;
      block->free = block->free->next;
      --block->free_count;
    } else {
      record =
          reinterpret_cast<char*>(block) + kFirstRecord + block->cut++ * (size + 1) * kRecordGrain;
    }
    if (block->free == nullptr && block->cut == RecordsPerBlock(size)) stock.blocks.Remove(block);
    return static_cast<FreeRecord*>(record);
  }

  static void PutBack(Size& stock, std::size_t size, FreeRecord* records) {
    while (records != nullptr) {
      FreeRecord* record = records;
      records = record->next;
      Block* block = Block::Of(record);
      if (block->free == nullptr && block->cut == RecordsPerBlock(size)) {
        stock.blocks.PushBack(block);
      }
      record->next = block->free;
      block->free = record;
      if (++block->free_count != block->cut || stock.block_count == 1) continue;
      stock.blocks.Remove(block);
      --stock.block_count;
      munmap(block, kBlockSize);
    }
  }

  std::mutex mu_;
  Size sizes_[kRecordSizes];
};

// The index of the size that holds `bytes`.
std::size_t SizeFor(std::size_t bytes) { return (bytes - 1) / kRecordGrain; }

}  // namespace

RecordCache::~RecordCache() {
  for (std::size_t size = 0; size < kRecordSizes; ++size) {
    Shelf& shelf = shelves_[size];
    if (shelf.spare != nullptr) Depot::Get().PutMagazine(shelf.spare, size);
    Depot::Get().PutSome(shelf.loaded, size);
  }
}

void RecordCache::Reload(Shelf& shelf, std::size_t size) {
  shelf.loaded = shelf.spare != nullptr ? shelf.spare : Depot::Get().TakeMagazine(size);
  shelf.spare = nullptr;
  shelf.count = kMagazine;
}

void RecordCache::Unload(Shelf& shelf, std::size_t size) {
  if (shelf.spare != nullptr) Depot::Get().PutMagazine(shelf.spare, size);
  shelf.spare = shelf.loaded;
  shelf.loaded = nullptr;
  shelf.count = 0;
}

void* AllocateRecord(std::size_t bytes) {
  if (!kPooled || bytes > kMaxPooledRecord) return ::operator new(bytes);
  RecordCache* cache = CurrentThread()->records;
  return cache != nullptr ? cache->Take(SizeFor(bytes)) : Depot::Get().TakeOne(SizeFor(bytes));
}

void ReleaseRecord(void* record, std::size_t bytes) noexcept {
  if (!kPooled || bytes > kMaxPooledRecord) {
    ::operator delete(record);
    return;
  }
  if (RecordCache* cache = CurrentThread()->records) {
    cache->Put(record, SizeFor(bytes));
  } else {
    auto* free = static_cast<FreeRecord*>(record);
    free->next = nullptr;
    Depot::Get().PutSome(free, SizeFor(bytes));
  }
}

std::size_t TrimRecords(std::size_t limit) { return Depot::Get().Trim(limit); }

}  // namespace csp::internal
