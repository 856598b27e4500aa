#include "csp/sched/internal/fiber_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <string>

#include "csp/base/cache_line.h"
#include "csp/base/panic.h"

namespace csp::internal {

namespace {

#ifndef MADV_GUARD_INSTALL
constexpr int kMadvGuardInstall = 102;  // linux/mman.h since 6.13
#else
constexpr int kMadvGuardInstall = MADV_GUARD_INSTALL;
#endif

constexpr std::size_t RoundUp(std::size_t size, std::size_t to) {
  return (size + to - 1) / to * to;
}

constexpr std::size_t kFiberSize = RoundUp(sizeof(Fiber), kCacheLine);

// Control blocks and stack tops are moved down by so many different numbers of cache lines: where
// all lie at the same place of their page, a load of one fiber's field takes the last store to
// another's for its own (the processor compares the low 12 bits first). A ping-pong took 76 ns
// without and 57 with. All still fits into the one page that a parked fiber touches.
constexpr std::size_t kColours = 32;

// The process's address space in use, in bytes; 0 if nobody tells.
std::size_t AddressSpaceInUse() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[32];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  return std::strtoull(text, nullptr, 10) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// True if so much more address space leaves some for everybody else: the program is to fail by a
// task that does not start, not by the next allocation anywhere. Computed, not tried out: while one
// thread holds more than it may keep, another's allocation fails.
bool LeavesHeadroom(std::size_t size) {
  constexpr std::size_t kHeadroom = std::size_t{32} << 20;
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return AddressSpaceInUse() + size + kHeadroom <= limit.rlim_cur;
}

}  // namespace

std::uint8_t StackClassFor(std::size_t size) {
  const std::size_t rounded = std::bit_ceil(std::max(size, kMinStackSize));
  return static_cast<std::uint8_t>(std::countr_zero(rounded / kMinStackSize));
}

std::uint8_t CheckedStackClass(const char* option, std::size_t size) {
  if (size == 0 || size > kMaxStackSize) {
    throw InvalidArgument(std::string(option) + " is " + std::to_string(size) +
                          "; give between 1 byte (rounded up to 16 KiB) and 1 GiB");
  }
  return StackClassFor(size);
}

FiberPool& FiberPool::Get() {
  static FiberPool* pool = new FiberPool;
  return *pool;
}

Fiber* FiberPool::Acquire(std::uint8_t stack_class) {
  Cold stack;
  {
    const std::lock_guard lock(mu_);
    Class& stacks = classes_[stack_class];
    if (Fiber* fiber = stacks.hot) {
      stacks.hot = fiber->next;
      --stacks.hot_count;
      return fiber;
    }
    if (!stacks.cold.empty()) {
      stack = stacks.cold.back();
      stacks.cold.pop_back();
    } else if (!NextStack(stacks, stack_class, stack)) {
      return nullptr;
    }
  }
  return Heat(stack);
}

// Makes the control block; outside the lock, since it touches a fresh page.
Fiber* FiberPool::Heat(const Cold& stack) {
  Fiber* place = FiberAt(*stack.slab, stack.index);
  auto* fiber = new (place) Fiber(stack.slab->base + stack.index * stack.slab->stride + kGuardSize,
                                  stack.slab->stack_class);
  fiber->slab = stack.slab;
  fiber->slab_index = stack.index;
  Side& side = stack.slab->sides[stack.index];
  fiber->words.attempt.store(side.attempt, std::memory_order_relaxed);
  side.hot.store(true, std::memory_order_release);
  return fiber;
}

void FiberPool::Release(Fiber* list) {
  std::size_t count = 1;
  Fiber* last = list;
  for (; last->next != nullptr; last = last->next) ++count;
  const std::lock_guard lock(mu_);
  Class& stacks = classes_[list->stack_class()];
  last->next = stacks.hot;
  stacks.hot = list;
  stacks.hot_count += count;
}

std::size_t FiberPool::Trim(std::size_t keep, std::size_t limit) {
  std::size_t trimmed = 0;
  const std::lock_guard lock(mu_);
  // After the lock, under which the fibers have come back without their tasks. Acquires what they
  // wrote when they went, and releases that they are free to whoever counts itself after this.
  if (cancellers.fetch_add(0, std::memory_order_acq_rel) != 0) return 0;
  for (std::size_t i = 0; i < kStackClasses && trimmed < limit; ++i) {
    Class& stacks = classes_[i];
    const std::size_t room = std::min(keep, kWarmBytes / StackSizeOf(static_cast<std::uint8_t>(i)));
    if (stacks.hot_count <= room) continue;
    Fiber** link = &stacks.hot;
    for (std::size_t k = 0; k < room; ++k) link = &(*link)->next;
    while (*link != nullptr && trimmed < limit) {
      Fiber* fiber = *link;
      *link = fiber->next;
      --stacks.hot_count;
      Cool(fiber, stacks);
      ++trimmed;
    }
  }
  return trimmed;
}

void FiberPool::Cool(Fiber* fiber, Class& stacks) {
  auto* slab = static_cast<Slab*>(fiber->slab);
  const std::size_t index = fiber->slab_index;
  Side& side = slab->sides[index];
  side.attempt = fiber->words.attempt.load(std::memory_order_relaxed);
  side.hot.store(false, std::memory_order_release);
  fiber->~Fiber();
  madvise(slab->base + index * slab->stride + kGuardSize, slab->stride - kGuardSize, MADV_DONTNEED);
  stacks.cold.push_back({slab, index});
}

FiberPool::Counts FiberPool::counts() {
  Counts counts;
  ForEachHot([&](Fiber*) { ++counts.hot; });
  const std::lock_guard lock(mu_);
  for (std::size_t i = 0; i < slab_count_.load(std::memory_order_relaxed); ++i) {
    counts.mapped += slabs_[i].load(std::memory_order_relaxed)->stacks;
  }
  return counts;
}

Fiber* FiberPool::FindByGuard(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  for (std::size_t i = 0; i < slab_count_.load(std::memory_order_acquire); ++i) {
    const Slab& slab = *slabs_[i].load(std::memory_order_relaxed);
    if (byte < slab.base || byte >= slab.base + slab.stacks * slab.stride) continue;
    const std::size_t index = static_cast<std::size_t>(byte - slab.base) / slab.stride;
    const bool in_guard = static_cast<std::size_t>(byte - slab.base) % slab.stride < kGuardSize;
    if (!in_guard || !slab.sides[index].hot.load(std::memory_order_acquire)) return nullptr;
    return FiberAt(slab, index);
  }
  return nullptr;
}

Fiber* FiberPool::FiberAt(const Slab& slab, std::size_t index) {
  char* end = slab.base + (index + 1) * slab.stride;
  return std::launder(
      reinterpret_cast<Fiber*>(end - kFiberSize - (slab.colour + index) % kColours * kCacheLine));
}

bool FiberPool::InstallGuard(Slab& slab, std::size_t index) {
  char* guard = slab.base + index * slab.stride;
  // LeakSanitizer scans stacks by what /proc/self/maps says is readable, and an installed guard
  // still looks so: under ASan every guard is a mapping.
  if (!kAsan && !slab.mprotect_guards) {
    if (madvise(guard, kGuardSize, kMadvGuardInstall) == 0) return true;
    slab.mprotect_guards = true;  // an old kernel, or mlockall
  }
  return mprotect(guard, kGuardSize, PROT_NONE) == 0;
}

bool FiberPool::NextStack(Class& stacks, std::uint8_t stack_class, Cold& out) {
  if (stacks.slab == nullptr || stacks.carved == stacks.slab->stacks) {
    Slab* slab = MapSlab(stack_class);
    if (slab == nullptr) return false;
    stacks.slab = slab;
    stacks.carved = 0;
  }
  if (!InstallGuard(*stacks.slab, stacks.carved)) return false;
  out = {stacks.slab, stacks.carved++};
  return true;
}

FiberPool::Slab* FiberPool::MapSlab(std::uint8_t stack_class) {
  const std::size_t count = slab_count_.load(std::memory_order_relaxed);
  if (count == kMaxSlabs) return nullptr;
  const std::size_t stride = StackSizeOf(stack_class) + kGuardSize;
  // Where the address space is limited, smaller slabs still fit.
  for (std::size_t stacks = std::max<std::size_t>(1, kSlabSize / stride); stacks > 0; stacks /= 2) {
    if (!LeavesHeadroom(stacks * stride)) continue;
    void* base = mmap(nullptr, stacks * stride, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) continue;
    // A huge page would make every parked fiber cost 2 MiB.
    madvise(base, stacks * stride, MADV_NOHUGEPAGE);
    auto* slab = new (std::nothrow) Slab;
    auto* sides = new (std::nothrow) Side[stacks];
    if (slab == nullptr || sides == nullptr) {
      munmap(base, stacks * stride);
      delete slab;
      delete[] sides;
      return nullptr;
    }
    // 11: the first stacks of different slabs differ, too.
    *slab = {static_cast<char*>(base), stride, stacks, count * 11, stack_class, false, sides};
#ifdef CSP_ASAN
    __lsan_register_root_region(base, stacks * stride);
#endif
    slabs_[count].store(slab, std::memory_order_relaxed);
    slab_count_.store(count + 1, std::memory_order_release);
    return slab;
  }
  return nullptr;
}

}  // namespace csp::internal
