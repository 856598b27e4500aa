// What locals cost: a Go with inherited values allocates nothing more than one without.
#include <array>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include "csp/cls/local.h"
#include "csp/task/go.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace {

thread_local int allocations = 0;

// Of the calling thread. Not inlined, and opaque: a fiber may be on another thread at the next
// call.
[[gnu::noinline]] int* Allocations() {
  int* address = &allocations;
  asm volatile("" : "+r"(address)::"memory");
  return address;
}

}  // namespace

// Not inlined: gcc would warn that what new returned goes to free.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++*Allocations();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace csp {
namespace {

using LocalCostTest = RuntimeTest;
CSP_INSTANTIATE(LocalCostTest);

template <class T>
struct Ten {
  Local<T> l0{kInherit}, l1{kInherit}, l2{kInherit}, l3{kInherit}, l4{kInherit}, l5{kInherit},
      l6{kInherit}, l7{kInherit}, l8{kInherit}, l9{kInherit};

  template <class F>
  void ForEach(F f) {
    for (Local<T>* local : {&l0, &l1, &l2, &l3, &l4, &l5, &l6, &l7, &l8, &l9}) f(*local);
  }
};
constinit Ten<int> numbers;
constinit Ten<std::string> texts;

// Allocations of a hundred calls of Go.
int AllocationsOfGo() {
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    const int before = *Allocations();
    Task<void> task = Go([] {});  // does not suspend
    sum += *Allocations() - before;
    task.Join();
  }
  return sum;
}

TEST_P(LocalCostTest, GoAllocatesNothingMore) {
  Here([] {
    AllocationsOfGo();
    const int without = AllocationsOfGo();
    numbers.ForEach([](Local<int>& local) { local = 1; });
    texts.ForEach(
        [](Local<std::string>& local) { local.Set("a text of more than sixteen bytes"); });
    Go([] {}).Join();  // makes the snapshot
    EXPECT_EQ(AllocationsOfGo(), without);

    // In children who have only looked, too.
    Go([without] {
      AllocationsOfGo();
      texts.ForEach([](Local<std::string>& local) { EXPECT_NE(local.Peek(), nullptr); });
      EXPECT_EQ(AllocationsOfGo(), without);
    }).Join();

    // Open values that have not changed.
    numbers.ForEach([](Local<int>& local) { *local = 2; });
    texts.ForEach([](Local<std::string>& local) { *local += "!"; });
    Go([] {}).Join();
    EXPECT_EQ(AllocationsOfGo(), without);
    *numbers.l3 = 3;
    EXPECT_EQ(AllocationsOfGo(), without + 2);  // a snapshot and the one value
  });
}

TEST_P(LocalCostTest, AccessAllocatesOnce) {
  static Local<int> local;
  Here([] {
    *local;
    const int before = *Allocations();
    for (int i = 0; i < 1000; ++i) *local += i;
    EXPECT_EQ(*Allocations(), before);
  });
}

}  // namespace
}  // namespace csp
