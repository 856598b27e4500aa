#include "csp/task/task.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "csp/base/panic.h"
#include "csp/sched/dump.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using TaskTest = RuntimeTest;
CSP_INSTANTIATE(TaskTest);

static_assert(!std::is_copy_constructible_v<Task<int>>);
static_assert(std::is_nothrow_move_constructible_v<Task<int>>);
static_assert(std::is_nothrow_move_assignable_v<Task<int>>);
static_assert(std::is_default_constructible_v<Task<void>>);

TEST_P(TaskTest, JoinReturnsTheResult) {
  Here([] {
    EXPECT_EQ(Go([] { return 42; }).Join(), 42);
    Go([] {}).Join();
    EXPECT_EQ(*Go([] { return std::make_unique<int>(7); }).Join(), 7);
    using Big = std::array<char, 20'000>;
    EXPECT_EQ(Go([] { return Big{'a'}; }).Join()[0], 'a');
  });
}

struct NoDefault {
  explicit NoDefault(int n) : n(n) {}
  const int n;
};
struct alignas(64) Aligned {
  char c = 'z';
};

TEST_P(TaskTest, ResultsOfEveryKind) {
  Here([] {
    EXPECT_EQ(Go([] { return NoDefault(3); }).Join().n, 3);
    Task<Aligned> aligned = Go([] { return Aligned(); });
    const Aligned result = aligned.Join();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&result) % 64, 0U);
    EXPECT_EQ(result.c, 'z');
    int x = 0;
    EXPECT_EQ(Go([&] { return &x; }).Join(), &x);
    EXPECT_EQ(Go([] { return std::optional<int>(); }).Join(), std::nullopt);
    const std::exception_ptr error = Go([] { return std::make_exception_ptr(1); }).Join();
    EXPECT_THROW(std::rethrow_exception(error), int);
  });
}

struct Adder {
  int sum = 0;
  int Add(int k) { return sum += k; }
};

TEST_P(TaskTest, ArgumentsGoAlongByValueAndAreMoved) {
  Here([] {
    auto owned = std::make_unique<int>(5);
    const auto add = [](std::unique_ptr<int> p, int n) { return *p + n; };
    EXPECT_EQ(Go(add, std::move(owned), 2).Join(), 7);
    int n = 1;
    Go([](int& by_reference) { ++by_reference; }, std::ref(n)).Join();
    EXPECT_EQ(n, 2);
    Adder adder;
    EXPECT_EQ(Go(&Adder::Add, &adder, 4).Join(), 4);
    EXPECT_EQ(adder.sum, 4);
  });
}

TEST_P(TaskTest, JoinRethrowsOnce) {
  Here([] {
    Task<int> task = Go([]() -> int { throw std::runtime_error("x"); });
    EXPECT_THROW(task.Join(), std::runtime_error);
    EXPECT_FALSE(task.joinable());
    EXPECT_THROW(task.Join(), JoinError);
  });
}

// Two of them, until both have been joined: as with channels that are set to nil.
TEST_P(TaskTest, SelectsUntilAllAreJoined) {
  Here([] {
    Task<int> a = Go([] { return 1; });
    Task<int> b = Go([] { return 20; });
    Task<void> none;
    int sum = 0;
    while (a.joinable() || b.joinable()) {
      Select(
          a.OnJoin() >> [&](int v) { sum += v; }, b.OnJoin() >> [&](int v) { sum += v; },
          none.OnJoin() >> [] { ADD_FAILURE(); },
          When(
              none.joinable(), none.OnJoin() >> [] { ADD_FAILURE(); }));
    }
    EXPECT_EQ(sum, 21);
  });
}

TEST_P(TaskTest, EmptyHandles) {
  Here([] {
    Task<int> empty;
    EXPECT_FALSE(empty.joinable());
    EXPECT_FALSE(empty.done());
    EXPECT_EQ(empty.number(), 0U);
    EXPECT_THROW(empty.Join(), JoinError);
    EXPECT_THROW(Select(empty.OnJoin()), NoLiveCase);
    EXPECT_EQ(Select(
                  empty.OnJoin() >> [](int) { return 1; }, Default >> [] { return 2; }),
              2);
    EXPECT_THROW(empty.Cancel(), JoinError);
    empty.Detach();

    Task<int> first = Go([] { return 1; });
    Task<int> second = std::move(first);
    EXPECT_FALSE(first.joinable());
    EXPECT_THROW(first.Join(), JoinError);
    EXPECT_EQ(second.Join(), 1);
    try {
      second.Join();
      FAIL();
    } catch (const JoinError& e) {
      EXPECT_STREQ(e.what(),
                   "Task::Join: no task is behind this handle (joined before, detached or moved "
                   "from); join a task once");
    }
    try {
      second.Cancel();
      FAIL();
    } catch (const JoinError& e) {
      EXPECT_STREQ(e.what(),
                   "Task::Cancel: no task is behind this handle (joined before, detached or moved "
                   "from); cancel before you join, or test joinable()");
    }
  });
}

TEST_P(TaskTest, AssignmentDetachesTheOldTask) {
  Here([] {
    Event let_go;
    std::atomic<bool> ended{false};
    Task<int> task = Go([&] {
      let_go.Wait();
      ended = true;
      return 1;
    });
    task = Go([] { return 2; });
    Task<int>& same = task;
    task = std::move(same);
    EXPECT_EQ(task.Join(), 2);
    let_go.Set();
    EXPECT_TRUE(EventuallyTrue([&] { return ended.load(); }));
  });
}

TEST_P(TaskTest, ATaskCannotJoinItself) {  // G6
  Here([] {
    Task<void> task;
    Event assigned;
    std::string message;
    task = Go([&] {
      assigned.Wait();
      try {
        task.Join();
      } catch (const JoinError& e) {
        message = e.what();
      }
    });
    assigned.Set();
    task.Join();
    EXPECT_EQ(message, "Task::Join: a task cannot wait for itself");
  });
}

TEST_P(TaskTest, OnJoin) {
  Here([] {
    Task<int> task = Go([] {
      Yield();
      return 3;
    });
    EXPECT_EQ(Select(
                  task.OnJoin() >> [](int v) { return v; },
                  OnTimeout(absl::Hours(1)) >> [] { return 0; }),
              3);
    EXPECT_FALSE(task.joinable());

    Task<void> nothing = Go([] {});
    Select(nothing.OnJoin() >> [] {});
    EXPECT_FALSE(nothing.joinable());

    Task<int> fails = Go([]() -> int { throw std::runtime_error("x"); });
    EXPECT_THROW(Select(fails.OnJoin()), std::runtime_error);
    EXPECT_FALSE(fails.joinable());

    Event never;
    Task<void> loser = Go([&] { never.Wait(); });
    Select(
        loser.OnJoin() >> [] { ADD_FAILURE(); }, OnTimeout(absl::Microseconds(10)) >> [] {});
    EXPECT_TRUE(loser.joinable());
    never.Set();
    loser.Join();
  });
}

TEST_P(TaskTest, AJoinerThatIsCancelledKeepsTheHandle) {
  Here([] {
    Event let_go;
    Task<int> task = Go([&] {
      let_go.Wait();
      return 9;
    });
    Task<void> joiner = Go([&] { task.Join(); });
    const std::string parked = "fiber " + std::to_string(joiner.number()) + " parked in task Join";
    EXPECT_TRUE(EventuallyTrue([&] { return DumpFibers().find(parked) != std::string::npos; }));
    joiner.Cancel();
    EXPECT_THROW(joiner.Join(), TaskCancelled);
    EXPECT_TRUE(task.joinable());
    let_go.Set();
    EXPECT_EQ(task.Join(), 9);
  });
}

TEST_P(TaskTest, AllThatTheTaskDidIsVisible) {
  Here([] {
    for (int i = 0; i < Rounds(3000); ++i) {
      int plain = 0;
      Task<void> task = Go([&] { plain = i; });
      if (i % 2 == 0) Yield();
      task.Join();
      ASSERT_EQ(plain, i);
    }
  });
}

int CountLeaves(int depth) {
  if (depth == 0) return 1;
  Task<int> left = Go(&CountLeaves, depth - 1);
  Task<int> right = Go(&CountLeaves, depth - 1);
  return left.Join() + right.Join();
}

TEST_P(TaskTest, ATreeOfTasks) {
  Here([] {
    const int depth = kTsan ? 8 : kAsan ? 10 : 13;
    EXPECT_EQ(CountLeaves(depth), 1 << depth);
  });
}

TEST_P(TaskTest, NumbersAreUnique) {
  Here([] {
    std::vector<Task<void>> tasks;
    std::vector<std::uint64_t> numbers;
    for (int i = 0; i < 3000; ++i) {
      tasks.push_back(Go([] {}));
      numbers.push_back(tasks.back().number());
    }
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (Task<void>& task : tasks) task.Join();
  });
}

std::size_t BytesAllocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Decision 13.
TEST(TaskMemoryTest, AFinishedUnjoinedTaskIsSmall) {
  if (kAsan || kTsan) GTEST_SKIP() << "their allocators count otherwise";
  csp::Run(
      [] {
        constexpr int kTasks = 100'000;
        std::vector<Task<int>> tasks;
        tasks.reserve(kTasks);
        Go([] { return 1; }).Join();
        const std::size_t before = BytesAllocated();
        for (int i = 0; i < kTasks; ++i) {
          tasks.push_back(Go([i] { return i; }));
          if (i % 16 == 0) Yield();
        }
        ASSERT_TRUE(EventuallyTrue(
            [] { return GetStats().tasks_finished + 1 == GetStats().tasks_spawned; }));
        EXPECT_LE((BytesAllocated() - before) / kTasks, 512U);
        for (int i = 0; i < kTasks; ++i) ASSERT_EQ(tasks[i].Join(), i);
      },
      {.workers = 1});
}

}  // namespace
}  // namespace csp
