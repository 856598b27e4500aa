// One value a fiber or thread: making, changing, binding.
#include "csp/cls/local.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "csp/base/panic.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using LocalTest = RuntimeTest;
CSP_INSTANTIATE(LocalTest);

struct Stats {
  int served = 0;
  std::string note = "new";
};

constinit Local<Stats> stats;
constinit Local<int> seven{[] { return 7; }};

TEST_P(LocalTest, IsMadeAtTheFirstAccess) {
  Here([] {
    EXPECT_FALSE(stats.has_value());
    EXPECT_EQ(stats.Peek(), nullptr);
    EXPECT_EQ(stats->note, "new");
    EXPECT_TRUE(stats.has_value());
    EXPECT_EQ(stats.Peek(), &*stats);
    stats->served = 3;
    EXPECT_EQ(stats.Get().served, 3);
  });
}

TEST_P(LocalTest, EveryFiberHasItsOwn) {
  Here([] {
    stats->served = 100;
    std::vector<Task<int>> tasks;
    tasks.reserve(50);
    for (int i = 0; i < 50; ++i) {
      tasks.push_back(Go([i] {
        EXPECT_FALSE(stats.has_value());
        Stats& mine = *stats;
        for (int n = 0; n < 20; ++n) {
          mine.served += i;
          Yield();
          EXPECT_EQ(&mine, &*stats);
        }
        return stats->served;
      }));
    }
    for (int i = 0; i < 50; ++i) EXPECT_EQ(tasks[static_cast<std::size_t>(i)].Join(), 20 * i);
    EXPECT_EQ(stats->served, 100);
  });
}

TEST_P(LocalTest, InitialiserMakesTheFirstValue) {
  Here([] {
    EXPECT_EQ(*seven, 7);
    *seven = 8;
    EXPECT_EQ(Go([] { return *seven; }).Join(), 7);
    EXPECT_EQ(*seven, 8);
  });
}

TEST_P(LocalTest, InitialiserMayHaveStateAndSuspend) {
  static Local<std::string> text{[greeting = std::string("hello")] {
    SleepFor(absl::Milliseconds(1));
    return greeting + " there";
  }};
  Here([] {
    EXPECT_EQ(*text, "hello there");
    EXPECT_EQ(Go([] { return *text; }).Join(), "hello there");
  });
}

TEST_P(LocalTest, SetReplacesInitialiser) {
  static Local<int> never{[]() -> int { throw std::logic_error("called"); }};
  Here([] {
    never.Set(3);
    EXPECT_EQ(*never, 3);
    int& reference = *never;
    never = 4;
    EXPECT_EQ(reference, 4);
  });
}

TEST_P(LocalTest, InitialiserThatThrowsLeavesNothing) {
  static std::atomic<int> calls;
  static Local<std::string> fails_once{[]() -> std::string {
    if (calls++ == 0) throw std::runtime_error("not yet");
    return "second";
  }};
  calls = 0;
  Here([] {
    EXPECT_THROW(*fails_once, std::runtime_error);
    EXPECT_FALSE(fails_once.has_value());
    EXPECT_EQ(*fails_once, "second");
  });
}

Local<int>* self;

TEST_P(LocalTest, InitialiserThatNeedsItselfPanics) {
  static Local<int> recursive{[] { return **self + 1; }};
  static Local<int> sets_itself{[] {
    *self = 1;
    return 2;
  }};
  Here([] {
    self = &recursive;
    EXPECT_THROW(*recursive, Panic);
    EXPECT_FALSE(recursive.has_value());
    recursive = 5;
    EXPECT_EQ(*recursive, 5);
    self = &sets_itself;
    EXPECT_THROW(*sets_itself, Panic);
    EXPECT_FALSE(sets_itself.has_value());
  });
}

TEST_P(LocalTest, InitialiserMayUseOthersThatGrowTheTable) {
  static std::array<Local<int>, 200> many;
  static Local<int> sum{[] {
    int total = 0;
    for (Local<int>& local : many) total += ++*local;
    return total;
  }};
  Here([] {
    EXPECT_EQ(*sum, 200);
    for (Local<int>& local : many) EXPECT_EQ(*local, 1);
  });
}

struct NoDefault {
  explicit NoDefault(int v) : value(v) {}
  const int value;  // not assignable
};

TEST_P(LocalTest, WithoutDefaultConstructorItMustBeSet) {
  static constinit Local<NoDefault> local;
  Here([] {
    try {
      local.Get();
      ADD_FAILURE();
    } catch (const Panic& e) {
      EXPECT_NE(std::string(e.what()).find("no default constructor"), std::string::npos);
    }
    EXPECT_FALSE(local.has_value());
    local.Set(3);
    EXPECT_EQ(local->value, 3);
    local = 4;
    EXPECT_EQ(local->value, 4);
  });
}

TEST_P(LocalTest, MoveOnlyImmovableLargeAndOverAligned) {
  struct alignas(256) Aligned {
    char byte = 'x';
  };
  struct alignas(4096) Page {
    std::array<char, 100000> bytes = {};
  };
  struct Immovable {
    explicit Immovable(int v) : value(v) {}
    Immovable(Immovable&&) = delete;
    int value;
  };
  static Local<std::unique_ptr<int>> pointer;
  static Local<Aligned> aligned{kInherit};
  static Local<Page> page;
  static Local<Immovable> immovable{[] { return Immovable(9); }};
  static Local<std::mutex> mutex;
  const auto address = [](auto& value) { return reinterpret_cast<std::uintptr_t>(&value); };
  Here([&] {
    EXPECT_EQ(*pointer, nullptr);
    pointer = std::make_unique<int>(4);
    EXPECT_EQ(**pointer, 4);
    pointer.Set(nullptr);
    EXPECT_EQ(address(*aligned) % 256, 0u);
    Go([&] { EXPECT_EQ(address(*aligned) % 256, 0u); }).Join();
    EXPECT_EQ(address(*page) % 4096, 0u);
    page->bytes.back() = 1;
    EXPECT_EQ(immovable->value, 9);
    const std::lock_guard lock(*mutex);
  });
}

TEST_P(LocalTest, BindingsNest) {
  static Local<std::string> name;
  Here([] {
    {
      const Local<std::string>::Bind bind(name, "one");
      EXPECT_EQ(*name, "one");
    }
    EXPECT_FALSE(name.has_value());

    name = "zero";
    std::string& zero = *name;
    {
      const Local<std::string>::Bind outer(name, "one");
      *name += "!";
      {
        const Local<std::string>::Bind inner(name, std::string("two"));
        EXPECT_EQ(*name, "two");
        name = "changed";
        Yield();
      }
      EXPECT_EQ(*name, "one!");
    }
    EXPECT_EQ(*name, "zero");
    EXPECT_EQ(&*name, &zero);
    try {
      const Local<std::string>::Bind bind(name, "one");
      throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
      EXPECT_EQ(*name, "zero");
    }
  });
}

TEST(LocalThreadTest, EveryThreadHasItsOwn) {
  stats->served = 1;
  std::thread([] { EXPECT_FALSE(stats.has_value()); }).join();
  Go([] { EXPECT_FALSE(stats.has_value()); }).Join();
  EXPECT_EQ(stats->served, 1);
}

TEST(LocalThreadTest, AFiberDoesNotSeeItsWorkersThread) {
  csp::Run(
      [] {
        *seven = 1;
        GoOptions pinned;
        pinned.pinned = true;
        for (int i = 0; i < 10; ++i) {
          EXPECT_EQ(Go(pinned,
                       [] {
                         const std::thread::id thread = std::this_thread::get_id();
                         *seven += 1;
                         for (int n = 0; n < 100; ++n) Yield();
                         EXPECT_EQ(std::this_thread::get_id(), thread);
                         return *seven;
                       })
                        .Join(),
                    8);
        }
      },
      {.workers = 2});
}

// A Local that is not static: its number goes, its values stay until their fiber ends.
TEST_P(LocalTest, MayDieBeforeItsValues) {
  Here([] {
    auto text = std::make_shared<std::string>("alive");
    Task<void> task = Go([text] {
      auto local = std::make_unique<Local<std::shared_ptr<std::string>>>(kInherit);
      *local = text;
      Go([&] { EXPECT_EQ(***local, "alive"); }).Join();
      local.reset();
      Local<int> next;  // at the same address, perhaps
      EXPECT_EQ(*next, 0);
    });
    task.Join();
    EXPECT_EQ(text.use_count(), 1);
  });
}

}  // namespace
}  // namespace csp
