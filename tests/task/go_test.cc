#include "csp/task/go.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "csp/base/panic.h"
#include "csp/chan/chan.h"
#include "csp/sched/dump.h"
#include "csp/select/event.h"
#include "csp/task/after_done.h"
#include "csp/task/after_func.h"
#include "csp/task/blocking_call.h"
#include "csp/task/run.h"
#include "csp/task/scope.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using GoTest = RuntimeTest;
CSP_INSTANTIATE(GoTest);

// Writes on `size` bytes of stack, at both ends.
[[gnu::noinline]] int UseStack(std::size_t size) {
  auto* bytes = static_cast<volatile char*>(__builtin_alloca(size));
  bytes[0] = 1;
  bytes[size - 1] = 2;
  return bytes[0] + bytes[size - 1];
}

// I5
TEST_P(GoTest, StackSizesAreRoundedUpOrRefused) {
  Here([] {
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, std::size_t{8} << 10,
          std::size_t{12345}, std::size_t{16} << 10, std::size_t{100'000}, std::size_t{1} << 20,
          std::size_t{1} << 30}) {
      const std::size_t usable = std::max<std::size_t>(size * 3 / 4, 2);
      EXPECT_EQ(Go({.stack_size = size}, [=] { return UseStack(usable); }).Join(), 3) << size;
    }
    for (const std::size_t size : {std::size_t{0}, SIZE_MAX, (std::size_t{1} << 30) + 1}) {
      try {
        Go({.stack_size = size}, [] { ADD_FAILURE(); });
        ADD_FAILURE() << size;
      } catch (const InvalidArgument& e) {
        EXPECT_EQ(e.what(), "Go: GoOptions::stack_size is " + std::to_string(size) +
                                "; give between 1 byte (rounded up to 16 KiB) and 1 GiB");
      }
    }
  });
}

TEST_P(GoTest, AnExceptionNeedsNoLargerStackThanTheLeast) {
  Here([] {
    if (kAsan || kTsan) return;  // which need more
    const auto thrower = [](int n) { throw std::runtime_error(std::to_string(n)); };
    EXPECT_THROW(Go({.stack_size = 1}, thrower, 5).Join(), std::runtime_error);
  });
}

TEST_P(GoTest, EmptyFunctionsAreRefused) {
  Here([] {
    const std::string why =
        ": the function is empty (a default-constructed std::function or a null pointer); give one "
        "that can be called";
    const auto expect = [&](const char* call, const auto& start) {
      try {
        start();
        ADD_FAILURE() << call;
      } catch (const InvalidArgument& e) {
        EXPECT_EQ(e.what(), call + why);
      }
    };
    const std::function<void()> empty;
    int (*const null)(int) = nullptr;
    expect("Go", [&] { Go(empty); });
    expect("Go", [&] { Go(null, 1); });
    expect("Go", [&] { Go({.name = "empty"}, empty); });
    expect("BlockingDetached", [&] { BlockingDetached(empty); });
    expect("AfterFunc", [&] { AfterFunc(absl::ZeroDuration(), empty); });
    const CancelSource source;
    expect("AfterDone", [&] { AfterDone(source.token(), empty); });
    Scope scope;
    expect("Scope::Go", [&] { scope.Go(empty); });
    expect("Scope::Go", [&] { scope.Go({.name = "empty"}, null, 1); });
    expect("Scope::TryGo", [&] { scope.TryGo(null, 1); });
    EXPECT_EQ(scope.running(), 0u);
  });
}

TEST_P(GoTest, RefusedTasksAreDestroyed) {
  Here([] {
    auto held = std::make_shared<int>(1);
    EXPECT_THROW(Go({.stack_size = 0}, [held] {}), InvalidArgument);
    EXPECT_EQ(held.use_count(), 1);
  });
}

TEST_P(GoTest, Names) {
  Here([] {
    Event gate;
    Task<void> named =
        Go({.name = "a rather long name for a task, too long"}, [&] { gate.Wait(); });
    Task<void> plain = Go([&] { gate.Wait(); });
    const auto dump_has = [](const char* text) {
      return DumpFibers().find(text) != std::string::npos;
    };
    EXPECT_TRUE(EventuallyTrue([&] { return dump_has("\"a rather long name for a task,"); }));
    gate.Set();
    named.Join();
    plain.Join();
    // The name does not stay with the stack.
    Event again;
    Task<void> next = Go([&] { again.Wait(); });
    EXPECT_TRUE(EventuallyTrue([&] { return !dump_has("a rather long"); }));
    again.Set();
    next.Join();
  });
}

TEST_P(GoTest, FromInsideAndOutside) {
  Here([] {
    std::atomic<int> ran{0};
    Go([&] {
      Go([&] {
        ++ran;
        Go([&] { ++ran; }).Join();
      }).Join();
    }).Join();
    EXPECT_EQ(ran, 2);
  });
}

TEST_P(GoTest, NeverSuspends) {
  Here([] {
    for (int i = 0; i < 1000; ++i) {
      const std::thread::id before = std::this_thread::get_id();
      Go([] {});
      ASSERT_EQ(std::this_thread::get_id(), before);
    }
  });
}

}  // namespace
}  // namespace csp
