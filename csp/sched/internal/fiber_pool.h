// Where fibers come from and go back to: slabs of stacks, one pool for the process.
//
//   slab (<= 64 MiB, one mmap)   [guard | stack … | Fiber] [guard | stack … | Fiber] …
//
// Invariants
//  1. A slab is never unmapped: control blocks are type-stable. A cold one reads as zeros; the next
//     one in its place goes on with its attempts' generations, so that a claim that comes late
//     (attempt.h) never finds its own word again.
//  2. A stack is *virgin* (its guard not yet installed), *cold* (its pages given back to the
//     system, no control block), or *hot* (a constructed Fiber, free or at work).
//  3. `hot` flags are set before a Fiber is handed out and cleared before its pages go. Who has
//     found one set may still read the block when it has gone cold: then it is nobody's.
//  4. Nothing goes cold while a canceller is at work: once it has found a task on a block, it pins
//     and unpins that (WaitWords::pins), whether or not it is free by then. A canceller that begins
//     later finds the block without its task, and writes nothing.
//
// Guards are 64 KiB, so that a function with a large frame still hits one. They cost no mapping of
// their own where the kernel has MADV_GUARD_INSTALL (Linux 6.13), which is tried per slab; else
// mprotect is used, and vm.max_map_count limits the number of stacks to about 32,000.
//
// Lock: `mu_` guards everything but what is atomic. It is a mutex, not a spinlock, since growing
// means system calls; workers keep caches, so it is rarely taken.
#ifndef CSP_SCHED_INTERNAL_FIBER_POOL_H_
#define CSP_SCHED_INTERNAL_FIBER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "csp/sched/internal/fiber.h"

namespace csp::internal {

// Stack sizes are powers of two from 16 KiB up.
inline constexpr std::size_t kMinStackSize = std::size_t{16} << 10;
inline constexpr std::size_t kMaxStackSize = std::size_t{1} << 30;
inline constexpr std::size_t kGuardSize = std::size_t{64} << 10;
inline constexpr int kStackClasses = 17;
// Free stacks of one size that Trim leaves as they are.
inline constexpr std::size_t kWarmBytes = std::size_t{128} << 20;

// The class of the smallest stack with at least `size` bytes, which must be at most kMaxStackSize.
std::uint8_t StackClassFor(std::size_t size);
// The same for a size that a user gave as `option`. Throws InvalidArgument if it is 0 or too large.
std::uint8_t CheckedStackClass(const char* option, std::size_t size);
inline std::size_t StackSizeOf(std::uint8_t stack_class) { return kMinStackSize << stack_class; }

class FiberPool {
 public:
  struct Counts {
    std::size_t mapped = 0;  // stacks in all slabs, virgin ones included
    std::size_t hot = 0;     // with a control block: at work or kept for reuse
  };

  // The process's pool; never destroyed.
  static FiberPool& Get();

  // A hot fiber without a task; null if the system gives no more stacks.
  Fiber* Acquire(std::uint8_t stack_class);

  // Takes back a list linked by `next`, all of one class.
  void Release(Fiber* list);

  // Gives the pages of free stacks back to the system until `keep` are left in each class, or what
  // makes kWarmBytes if that is less, at most `limit` of them now. Those used last stay. Returns
  // how many it was.
  std::size_t Trim(std::size_t keep, std::size_t limit);

  Counts counts();

  // Calls `visit` with every hot fiber. Which of them are at work may change meanwhile.
  template <class Visit>
  void ForEachHot(Visit visit) {
    for (std::size_t i = 0; i < slab_count_.load(std::memory_order_acquire); ++i) {
      const Slab& slab = *slabs_[i].load(std::memory_order_relaxed);
      for (std::size_t k = 0; k < slab.stacks; ++k) {
        if (slab.sides[k].hot.load(std::memory_order_acquire)) visit(FiberAt(slab, k));
      }
    }
  }

  // The hot fiber whose guard `address` lies in; null if none. Async-signal-safe.
  Fiber* FindByGuard(const void* address);

 private:
  // What is known of a stack without touching its pages.
  struct Side {
    Atomic<bool> hot{false};
    std::uint64_t attempt = 0;  // while cold: where the generations go on
  };
  struct Slab {
    char* base = nullptr;
    std::size_t stride = 0;  // guard and stack
    std::size_t stacks = 0;
    std::size_t colour = 0;  // of the first stack
    std::uint8_t stack_class = 0;
    bool mprotect_guards = false;
    Side* sides = nullptr;
  };
  struct Cold {
    Slab* slab;
    std::size_t index;
  };
  struct Class {
    Fiber* hot = nullptr;  // free, the one used last first
    std::size_t hot_count = 0;
    std::vector<Cold> cold;
    Slab* slab = nullptr;  // the one being carved
    std::size_t carved = 0;
  };

  // 16,384 slabs of 64 MiB are a TiB.
  static constexpr std::size_t kMaxSlabs = 16384;
  static constexpr std::size_t kSlabSize = std::size_t{64} << 20;

  static Fiber* FiberAt(const Slab& slab, std::size_t index);
  static Fiber* Heat(const Cold& stack);
  static void Cool(Fiber* fiber, Class& stacks);
  static bool InstallGuard(Slab& slab, std::size_t index);
  Slab* MapSlab(std::uint8_t stack_class);
  bool NextStack(Class& stacks, std::uint8_t stack_class, Cold& out);

  std::mutex mu_;
  Class classes_[kStackClasses];
  Atomic<std::size_t> slab_count_{0};
  Atomic<Slab*> slabs_[kMaxSlabs] = {};
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_FIBER_POOL_H_
