// What starts a task either starts it or leaves nothing behind, whichever allocation fails.
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "csp/task/after_func.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace {

// Allocations that this thread may still make; negative: any number.
thread_local int allowed = -1;

}  // namespace

void* operator new(std::size_t size) {
  if (allowed == 0) throw std::bad_alloc();
  if (allowed > 0) --allowed;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace csp {
namespace {

struct Token {
  std::shared_ptr<int> count;
  void operator()() const {}
};

// Calls `start(token)`, with one allocation allowed, then two, until it succeeds. One worker and no
// suspension: the fiber stays on its thread.
template <class F>
void FailsCleanly(F start) {
  const auto count = std::make_shared<int>(0);
  for (int n = 0;; ++n) {
    ASSERT_LT(n, 1000);
    Token token{count};
    allowed = n;
    try {
      start(std::move(token));
      allowed = -1;
      break;
    } catch (const std::bad_alloc&) {
      allowed = -1;
    } catch (const RuntimeError&) {  // no memory for a thread of the pool
      allowed = -1;
    }
    token = {};
    ASSERT_EQ(count.use_count(), 1) << "after " << n << " allocations";
  }
  EXPECT_TRUE(EventuallyTrue([&] { return count.use_count() == 1; }));
}

TEST(GoMemoryTest, FailsCleanly) {
  RunAt({1}, [] {
    FailsCleanly([](Token&& token) { Go(std::move(token)).Detach(); });
    const GoOptions options{.name = std::string(100, 'x'), .stack_size = 1 << 20};
    FailsCleanly([&](Token&& token) { Go(options, std::move(token)).Detach(); });
    FailsCleanly([](Token&& token) { BlockingDetached(std::move(token)).Detach(); });
    FailsCleanly([](Token&& token) { (void)AfterFunc(absl::ZeroDuration(), std::move(token)); });
  });
}

}  // namespace
}  // namespace csp
