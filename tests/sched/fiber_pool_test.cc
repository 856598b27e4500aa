#include "csp/sched/internal/fiber_pool.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "csp/base/panic.h"
#include "csp/sched/internal/thread_record.h"
#include "csp/select/blocking.h"
#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/sched/child.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp::internal {
namespace {

constexpr std::size_t kPage = 4096;

long ResidentKilobytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  }
  return -1;
}

int Mappings() {
  std::ifstream file("/proc/self/maps");
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

TEST(StackClassTest, IsTheSmallestThatFits) {
  EXPECT_EQ(StackClassFor(0), 0);
  EXPECT_EQ(StackClassFor(1), 0);
  EXPECT_EQ(StackClassFor(kMinStackSize), 0);
  EXPECT_EQ(StackClassFor(kMinStackSize + 1), 1);
  EXPECT_EQ(StackClassFor(kMaxStackSize), kStackClasses - 1);
  for (std::size_t size = 1; size <= kMaxStackSize; size = size * 3 + 1) {
    const std::uint8_t stack_class = StackClassFor(size);
    EXPECT_GE(StackSizeOf(stack_class), size);
    if (stack_class > 0) {
      EXPECT_LT(StackSizeOf(stack_class - 1), size);
    }
  }
}

TEST(FiberPoolTest, GivesEachStackOnceAndTakesItBack) {
  FiberPool& pool = FiberPool::Get();
  std::set<Fiber*> fibers;
  for (int i = 0; i < Fibers(2000); ++i) {
    Fiber* fiber = pool.Acquire(1);
    ASSERT_NE(fiber, nullptr);
    EXPECT_TRUE(fibers.insert(fiber).second);
    EXPECT_EQ(fiber->stack_class(), 1);
    EXPECT_GE(fiber->stack_size(), StackSizeOf(1) - kPage);
    EXPECT_EQ(fiber->runtime.load(), nullptr);
  }
  const std::size_t hot = pool.counts().hot;
  Fiber* list = nullptr;
  for (Fiber* fiber : fibers) {
    fiber->next = list;
    list = fiber;
  }
  pool.Release(list);
  EXPECT_EQ(pool.counts().hot, hot);
  Fiber* again = pool.Acquire(1);
  EXPECT_TRUE(fibers.count(again));
  again->next = nullptr;
  pool.Release(again);
}

TEST(FiberPoolTest, TheWholeStackCanBeWritten) {
  for (const std::uint8_t stack_class : {0, 3, 6}) {
    Fiber* fiber = FiberPool::Get().Acquire(stack_class);
    auto* low = const_cast<char*>(fiber->stack_low());
    for (std::size_t i = 0; i < fiber->stack_size(); i += kPage) low[i] = 'x';
    low[fiber->stack_size() - 1] = 'x';
    EXPECT_EQ(low[0], 'x');
    fiber->next = nullptr;
    FiberPool::Get().Release(fiber);
  }
}

TEST(FiberPoolTest, FindsAFiberByItsGuardAlone) {
  FiberPool& pool = FiberPool::Get();
  Fiber* fiber = pool.Acquire(2);
  const char* low = fiber->stack_low();
  EXPECT_EQ(pool.FindByGuard(low - 1), fiber);
  EXPECT_EQ(pool.FindByGuard(low - kGuardSize), fiber);
  EXPECT_EQ(pool.FindByGuard(low), nullptr);
  EXPECT_EQ(pool.FindByGuard(low - kGuardSize - 1), nullptr);
  EXPECT_EQ(pool.FindByGuard(nullptr), nullptr);
  EXPECT_EQ(pool.FindByGuard(&pool), nullptr);
  fiber->next = nullptr;
  pool.Release(fiber);
}

void WriteAt(const char* address) { *const_cast<volatile char*>(address) = 1; }

TEST(FiberPoolTest, EveryByteOfTheGuardFaults) {
  for (const std::size_t below : {std::size_t{1}, kPage, kGuardSize}) {
    EXPECT_CHILD(
        WriteAt(FiberPool::Get().Acquire(3)->stack_low() - below),
        [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }, "");
  }
}

TEST(FiberPoolTest, TrimGivesThePagesBackAndTheStackMayBeUsedAgain) {
  FiberPool& pool = FiberPool::Get();
  const int count = Fibers(1000);
  Fiber* list = nullptr;
  for (int i = 0; i < count; ++i) {
    Fiber* fiber = pool.Acquire(2);
    const_cast<char*>(fiber->stack_low())[0] = 'x';
    fiber->next = list;
    list = fiber;
  }
  pool.Release(list);
  const long before = ResidentKilobytes();
  const std::size_t hot = pool.counts().hot;
  EXPECT_EQ(pool.Trim(10, 5), 5U);
  std::size_t trimmed = 5;
  while (const std::size_t more = pool.Trim(10, 64)) trimmed += more;
  EXPECT_GE(trimmed, static_cast<std::size_t>(count - 10));
  EXPECT_EQ(pool.counts().hot, hot - trimmed);
  if (!kTsan) {
    EXPECT_LT(ResidentKilobytes(), before - count * 4);
  }
  Fiber* cold = nullptr;
  for (int i = 0; i <= 10; ++i) cold = pool.Acquire(2);
  EXPECT_EQ(cold->stack_low()[0], 0);
}

// `count` fibers of a class that no other test uses, the first of them used last.
std::vector<Fiber*> FreeFibers(std::uint8_t stack_class, int count) {
  std::vector<Fiber*> fibers;
  for (int i = 0; i < count; ++i) fibers.push_back(FiberPool::Get().Acquire(stack_class));
  for (int i = 0; i < count; ++i) fibers[i]->next = i + 1 < count ? fibers[i + 1] : nullptr;
  FiberPool::Get().Release(fibers[0]);
  return fibers;
}

TEST(FiberPoolTest, TrimKeepsWhatWasUsedLast) {
  FiberPool& pool = FiberPool::Get();
  const std::vector<Fiber*> fibers = FreeFibers(4, 20);
  while (pool.Trim(5, 64) != 0) {
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pool.Acquire(4), fibers[i]);
}

TEST(FiberPoolTest, TrimKeepsNoMoreOfLargeStacks) {
  FiberPool& pool = FiberPool::Get();
  const std::uint8_t stack_class = StackClassFor(kWarmBytes / 4);
  const std::size_t hot = pool.counts().hot;
  FreeFibers(stack_class, 10);
  EXPECT_EQ(pool.counts().hot, hot + 10);
  while (pool.Trim(1000, 64) != 0) {
  }
  EXPECT_LE(pool.counts().hot, hot + 4);
}

// A claim that comes late names a generation that the word has passed.
TEST(FiberPoolTest, GenerationsGoOnAfterATrim) {
  FiberPool& pool = FiberPool::Get();
  Fiber* fiber = FreeFibers(5, 1)[0];
  fiber->words.attempt.store(77 << 16);
  while (pool.Trim(0, 64) != 0) {
  }
  ASSERT_EQ(pool.Acquire(5), fiber);
  EXPECT_EQ(fiber->words.attempt.load(), 77 << 16);
}

// It pins a block whose task may have ended by then.
TEST(FiberPoolTest, NothingIsTrimmedUnderACanceller) {
  FiberPool& pool = FiberPool::Get();
  Fiber* fiber = pool.Acquire(6);
  fiber->words.cancel.store(CancelWordOf(1234));  // runs task 1234
  {
    CancelSweep sweep;
    EXPECT_TRUE(sweep.Cancel(*fiber, 1234));
    fiber->words.cancel.store(0);  // which ends
    fiber->next = nullptr;
    pool.Release(fiber);
    EXPECT_EQ(pool.Trim(0, 64), 0U);
    ASSERT_EQ(pool.Acquire(6), fiber);  // another task's
  }
  EXPECT_EQ(fiber->words.pins.load(), 0U);
}

// --- In a runtime.

// So many fibers that wait, from the end of construction to the beginning of destruction.
class Parked {
 public:
  explicit Parked(int count) {
    std::atomic<int> parked{0};
    for (int i = 0; i < count; ++i) {
      tasks_.push_back(Go([this, &parked] {
        ++parked;
        gate_.Wait();
      }));
      if (i % 1000 == 0) Yield();
    }
    EXPECT_TRUE(EventuallyTrue([&] { return parked == count; }));
  }
  ~Parked() {
    gate_.Set();
    for (Task<void>& task : tasks_) task.Join();
  }

 private:
  Event gate_;
  std::vector<Task<void>> tasks_;
};

TEST(FiberMemoryTest, ComesBackAfterASpike) {
  if (kAsan || kTsan) GTEST_SKIP() << "their shadow memory stays";
  csp::Run(
      [] {
        const long before = ResidentKilobytes();
        auto parked = std::make_unique<Parked>(20'000);
        const long spike = ResidentKilobytes();
        EXPECT_GE(spike - before, 20'000 * 4);
        parked.reset();
        const auto tidied = [&] {
          return ResidentKilobytes() <= before + (spike - before) / 4 &&
                 GetStats().stacks_hot <= 5'000;  // of all sizes, some from the tests before
        };
        for (int i = 0; i < 1000 && !tidied(); ++i) {
          SleepFor(absl::Milliseconds(10));  // idle: then the runtime tidies up
        }
        EXPECT_TRUE(tidied()) << before << " kB, then " << spike << ", now " << ResidentKilobytes()
                              << "; stacks: " << GetStats().stacks_hot;
      },
      {.workers = 2});
}

// More than vm.max_map_count would allow if each guard were a mapping of its own.
TEST(FiberMemoryTest, AHundredThousandParkedFibersWithGuards) {
  if (kAsan || kTsan) GTEST_SKIP() << "each guard is a mapping there";
  void* probe =
      mmap(nullptr, kGuardSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool cheap_guards = madvise(probe, kGuardSize, 102 /* MADV_GUARD_INSTALL */) == 0;
  munmap(probe, kGuardSize);
  if (!cheap_guards) GTEST_SKIP() << "the kernel has no MADV_GUARD_INSTALL";
  csp::Run(
      [] {
        const int mappings = Mappings();
        const Parked parked(100'000);
        EXPECT_LE(Mappings(), mappings + 3000);
        int guarded = 0;
        FiberPool::Get().ForEachHot([&](Fiber* fiber) {
          guarded += FiberPool::Get().FindByGuard(fiber->stack_low() - 1) == fiber ? 1 : 0;
        });
        EXPECT_GE(guarded, 100'000);
      },
      {.workers = 2});
}

// Under mlockall no guard can be installed by madvise.
void ParkUnderMlockall() {
  constexpr int kMayNot = 77;
  if (mlockall(MCL_FUTURE) != 0) std::_Exit(kMayNot);
  try {
    std::_Exit(csp::Run(
        [] {
          const int mappings = Mappings();
          const Parked parked(200);
          return Mappings() < mappings + 200 ? 1 : 0;
        },
        {.workers = 1, .main_stack_size = 64 << 10}));
  } catch (const RuntimeError&) {  // RLIMIT_MEMLOCK does not allow for a thread's stack
    std::_Exit(kMayNot);
  }
}

TEST(FiberMemoryTest, FallsBackToMprotect) {
  if (kAsan || kTsan) GTEST_SKIP() << "they cannot lock their memory";
  EXPECT_CHILD(
      ParkUnderMlockall(),
      [](int status) {
        return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
      },
      "");
}

// A9: what cannot start fails; who is there goes on, and so do timers.
void ExhaustTheAddressSpace(int workers) {
  std::_Exit(csp::Run(
      [] {
        Go([] {}).Join();
        rlimit limit;
        getrlimit(RLIMIT_AS, &limit);
        std::ifstream file("/proc/self/statm");
        rlim_t pages = 0;
        file >> pages;
        limit.rlim_cur = pages * 4096 + (rlim_t{256} << 20);
        setrlimit(RLIMIT_AS, &limit);

        auto gate = std::make_shared<Event>();
        auto parked = std::make_shared<std::atomic<int>>(0);
        std::vector<Task<int>> tasks;
        int failed = 0;
        std::string message;
        for (int i = 0; i < 4000; ++i) {
          tasks.push_back(Go({.stack_size = 1 << 20}, [gate, parked] {
            ++*parked;
            gate->Wait();
            return 1;
          }));
          if (i % 16 == 0) SleepFor(absl::Microseconds(1));
        }
        do {  // until each has parked or failed
          Yield();
          failed = 0;
          for (Task<int>& task : tasks) failed += task.done() ? 1 : 0;
        } while (*parked + failed < static_cast<int>(tasks.size()));
        if (failed == 0 || *parked == 0) return 1;
        gate->Set();
        int joined = 0;
        for (Task<int>& task : tasks) {
          try {
            joined += task.Join();
          } catch (const NoStack& e) {
            message = e.what();
            --failed;
          }
        }
        if (joined != *parked) return 2;
        if (failed > 0) return 3;
        for (const char* hint : {"vm.max_map_count", "RLIMIT_AS", "vm.overcommit_memory"}) {
          if (message.find(hint) == std::string::npos) return 4;
        }
        return Go([] { return 0; }).Join();  // there are stacks again
      },
      {.workers = workers}));
}

TEST(FiberMemoryTest, OutOfAddressSpace) {
  if (kAsan || kTsan) GTEST_SKIP() << "their shadow memory needs the address space";
  for (const int workers : {1, 2}) {
    EXPECT_CHILD(ExhaustTheAddressSpace(workers), testing::ExitedWithCode(0), "");
  }
}

// The closure of a task that fails so may wait in its destructor, and its panic handler, too.
void FailDetachedWithoutAStack() {
  std::_Exit(csp::Run(
      [] {
        Event told;
        const PanicHandler previous = SetPanicHandler([&](const PanicReport& report) {
          if (report.type == "csp::NoStack") told.Set();
        });
        Go({.stack_size = 1 << 30}, [] {});  // address space there is
        rlimit limit;
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = rlim_t{512} << 20;
        setrlimit(RLIMIT_AS, &limit);
        Go({.stack_size = 1 << 30}, [] {});
        Go({.stack_size = 1 << 30}, [] {});
        told.Wait();
        SetPanicHandler(previous);
        return 0;
      },
      {.workers = 2}));
}

// The thread's own record is enough for all of them.
std::size_t ThreadRecords() {
  std::size_t count = 0;
  ThreadRecord::ForEach([&](const ThreadRecord&) { ++count; });
  return count;
}

void FailManyWithoutAStack() {
  (void)Parker::Current();  // this thread's record is made before they are counted
  std::_Exit(csp::Run(
      [] {
        rlimit limit;
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = rlim_t{512} << 20;
        setrlimit(RLIMIT_AS, &limit);
        const std::size_t records = ThreadRecords();
        for (int i = 0; i < 100; ++i) {
          try {
            Go({.stack_size = 1 << 30}, [] {}).Join();
            return 1;
          } catch (const NoStack&) {
          }
        }
        return ThreadRecords() == records ? 0 : 2;
      },
      {.workers = 1}));
}

TEST(FiberMemoryTest, TasksWithoutAStackLeaveNothingBehind) {
  if (kAsan || kTsan) GTEST_SKIP() << "their shadow memory needs the address space";
  EXPECT_CHILD(FailManyWithoutAStack(), testing::ExitedWithCode(0), "");
}

TEST(FiberMemoryTest, ADetachedTaskWithoutAStackIsReported) {
  if (kAsan || kTsan) GTEST_SKIP() << "their shadow memory needs the address space";
  EXPECT_CHILD(FailDetachedWithoutAStack(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace csp::internal
