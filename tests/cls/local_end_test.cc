// The end of a fiber's values: order, blocking destructors, destructors that make new ones.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/cls/local.h"
#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using LocalEndTest = RuntimeTest;
CSP_INSTANTIATE(LocalEndTest);

// Where destructors write their names.
class Journal {
 public:
  void Add(const std::string& entry) {
    const std::lock_guard lock(mu_);
    text_ += text_.empty() ? entry : " " + entry;
  }
  std::string Take() {
    const std::lock_guard lock(mu_);
    return std::exchange(text_, {});
  }

 private:
  std::mutex mu_;
  std::string text_;
};
Journal journal;

// Tells the journal at its end, after waiting if it is to.
struct Traced {
  Traced() = default;
  explicit Traced(std::string n, bool w = false) : name(std::move(n)), waits(w) {}
  Traced(Traced&& other) noexcept : name(std::exchange(other.name, {})), waits(other.waits) {}
  Traced& operator=(Traced&& other) noexcept {
    std::swap(name, other.name);
    std::swap(waits, other.waits);
    return *this;
  }
  ~Traced() {
    if (name.empty()) return;
    if (waits) {
      Yield();
      SleepFor(absl::Milliseconds(1));
      Yield();
    }
    journal.Add(name);
  }
  std::string name;
  bool waits = false;
};

constinit Local<Traced> a, b, c;

// As a task, or as a thread if the test is on one.
template <class F>
void InNew(bool thread, F body) {
  if (thread) {
    std::thread(body).join();
  } else {
    Go(body).Join();
  }
}

TEST_P(LocalEndTest, ReverseOrderOfCreation) {
  Here([this] {
    InNew(on_plain_thread(), [] {
      b = Traced("b");
      a = Traced("a");
      *c = Traced("c");
      a = Traced("a2");  // not younger by that
      journal.Take();    // "a"
    });
    EXPECT_EQ(journal.Take(), "c a2 b");
  });
}

TEST_P(LocalEndTest, BlockingDestructorsKeepTheOrder) {
  Here([this] {
    for (int i = 0; i < 20; ++i) {
      InNew(on_plain_thread(), [] {
        a = Traced("a", true);
        b = Traced("b");
        c = Traced("c", true);
      });
      EXPECT_EQ(journal.Take(), "c b a");
    }
  });
}

// Many that wait at their end at once: with several workers they change threads while they do.
TEST_P(LocalEndTest, ManyBlockingDestructorsOnManyWorkers) {
  Here([] {
    std::vector<Task<void>> tasks;
    tasks.reserve(200);
    for (int i = 0; i < 200; ++i) {
      tasks.push_back(Go([i] {
        a = Traced("x", true);
        b = Traced("x", true);
        if (i % 3 == 0) c = Traced("x", true);
      }));
    }
    for (Task<void>& task : tasks) task.Join();
    EXPECT_EQ(journal.Take().size(), 2 * (200 + 200 + 67) - 1);
  });
}

TEST_P(LocalEndTest, ACancelledTaskStillDestroysThemInPeace) {
  Here([] {
    Event begun;
    Task<void> task = Go([&] {
      a = Traced("a", true);
      b = Traced("b", true);
      begun.Set();
      SleepFor(absl::InfiniteDuration());
    });
    begun.Wait();
    task.Cancel();
    EXPECT_THROW(task.Join(), TaskCancelled);
    EXPECT_EQ(journal.Take(), "b a");  // each has waited, and told afterwards
  });
}

TEST_P(LocalEndTest, AFailedTaskDestroysThem) {
  Here([] {
    Task<void> task = Go([] {
      a = Traced("a");
      throw std::runtime_error("failed");
    });
    EXPECT_THROW(task.Join(), std::runtime_error);
    EXPECT_EQ(journal.Take(), "a");
  });
}

// Sets its own Local as it goes, which would assign to what is being destroyed.
struct SetsItself;
extern Local<SetsItself> sets_itself;
struct SetsItself {
  SetsItself() = default;
  SetsItself(const SetsItself&) = default;
  SetsItself& operator=(const SetsItself&) = default;
  ~SetsItself() {
    if (!sets) return;
    EXPECT_NE(sets_itself.Peek(), nullptr);
    try {
      sets_itself = SetsItself();
      ADD_FAILURE() << "assigned to what is being destroyed";
    } catch (const Panic&) {
      journal.Add("refused");
    }
  }
  bool sets = false;
};
constinit Local<SetsItself> sets_itself;

TEST_P(LocalEndTest, ADestructorMayNotSetWhatItDestroys) {
  Here([this] {
    InNew(on_plain_thread(), [] { sets_itself->sets = true; });
    EXPECT_EQ(journal.Take(), "refused");
  });
}

// Makes a value of `c` as it goes, and grows the table.
struct MakesMore {
  std::string name;
  MakesMore() = default;
  MakesMore(MakesMore&&) = delete;
  ~MakesMore() {
    static std::array<Local<int>, 100> many;
    if (name.empty()) return;
    for (Local<int>& local : many) *local = 1;
    c = Traced("c", true);
    Yield();
    journal.Add(name);
  }
};

TEST_P(LocalEndTest, DestructorsMayMakeNewValues) {
  static Local<MakesMore> more;
  Here([this] {
    InNew(on_plain_thread(), [] {
      a = Traced("a");
      more->name = "more";
      c = Traced("c0");
    });
    EXPECT_EQ(journal.Take(), "c0 more c a");
  });
}

struct UsesItself {
  int lines = 0;
  ~UsesItself();
};
constinit Local<UsesItself> uses_itself;
UsesItself::~UsesItself() {
  EXPECT_EQ(&*uses_itself, this);
  EXPECT_TRUE(uses_itself.has_value());
  journal.Add(std::to_string(++uses_itself->lines));
}

TEST_P(LocalEndTest, ADestructorCanAccessItsOwnValue) {
  Here([this] {
    InNew(on_plain_thread(), [] { uses_itself->lines = 41; });
    EXPECT_EQ(journal.Take(), "42");
  });
}

// Two that make each other anew would go on for ever.
struct Hen {
  ~Hen();
};
struct Egg {
  ~Egg();
};
constinit Local<Hen> hen;
constinit Local<Egg> egg;
Hen::~Hen() { *egg; }
Egg::~Egg() { *hen; }

TEST_P(LocalEndTest, DestructorsThatMakeEachOtherAnewComeToAnEnd) {
  if (kAsan) return;  // leaves memory behind on purpose
  Here([this] {
    InNew(on_plain_thread(), [] {
      *hen;
      *egg;
    });
  });
}

struct Spawns {
  std::string name;
  Spawns() = default;
  Spawns(const Spawns&) = default;
  Spawns& operator=(const Spawns&) = default;
  ~Spawns();
};
constinit Local<Spawns> spawns{kInherit};
Spawns::~Spawns() {
  if (name != "parent") return;
  name = "dying";
  // What is being destroyed is not inherited.
  Go([] { EXPECT_FALSE(spawns.has_value()); }).Join();
  journal.Add("spawned");
}

TEST_P(LocalEndTest, DestructorsMayStartTasks) {
  Here([this] {
    InNew(on_plain_thread(), [] { spawns->name = "parent"; });
    EXPECT_EQ(journal.Take(), "spawned");
  });
}

// Counts the objects that live.
std::atomic<int> alive;
struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
};
constinit Local<Counted> counted;
constinit Local<Counted> counted_shared{kInherit};
constinit Local<Counted> counted_changed{kInherit};

TEST_P(LocalEndTest, ManyFibersLeaveNothing) {
  alive = 0;
  Here([] {
    constexpr int kFibers = Rounds(100'000);
    constexpr int kAtOnce = Fibers(1'000);
    counted_shared.Set(Counted());
    for (int i = 0; i < kFibers; i += kAtOnce) {
      *counted_changed;
      std::vector<Task<void>> tasks;
      tasks.reserve(kAtOnce);
      for (int n = 0; n < kAtOnce; ++n) {
        tasks.push_back(Go([n] {
          *counted;
          EXPECT_TRUE(counted_shared.has_value());
          if (n % 4 == 0) *counted_shared;
          if (n % 16 == 0) {
            const Local<Counted>::Bind bind(counted_changed, Counted());
            Go([] { *counted_changed; });
          }
          if (n % 5 == 0) throw std::runtime_error("");
        }));
      }
      for (Task<void>& task : tasks) {
        try {
          task.Join();
        } catch (const std::runtime_error&) {
        }
      }
    }
  });
  // The thread has gone, but grandchildren in the default runtime may not have.
  EXPECT_TRUE(EventuallyTrue([] { return alive == 0; })) << alive;
}

TEST_P(LocalEndTest, ATaskThatNeverStartsGivesUpWhatItInherited) {
  alive = 0;
  if (on_plain_thread()) return;
  Here([] {
    counted_shared.Set(Counted());
    for (int i = 0; i < 1000; ++i) Go([] { *counted_shared; });
  });  // the shutdown cancels those that have not begun
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace csp
