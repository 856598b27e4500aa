// What a fiber keeps to itself when it suspends and goes on, perhaps elsewhere: the exceptions it
// handles and throws. (And what it does not keep: errno and thread_locals.)
#include "csp/sched/internal/switch.h"

#include <atomic>
#include <cerrno>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SwitchTest = RuntimeTest;
CSP_INSTANTIATE(SwitchTest);

struct Numbered {
  int number;
};

void ExpectNoException() {
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
}

// Suspends so that the fiber may well go on on another worker.
void Move(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      SleepFor(absl::Microseconds(random() % 50));
      break;
    case 1:
      Go([] {}).Join();
      break;
    default:
      Yield();
  }
}

// Throws `depth` exceptions, each in the handler of the one before, suspending everywhere.
void Nest(int number, int depth, std::mt19937& random) {
  try {
    throw Numbered{number + depth};
  } catch (const Numbered& caught) {
    Move(random);
    ASSERT_EQ(caught.number, number + depth);
    if (depth > 0) Nest(number, depth - 1, random);
    Move(random);
    try {
      throw;
    } catch (const Numbered& again) {
      ASSERT_EQ(again.number, number + depth);
    }
  }
}

// Blocks in its destructor.
class Mover {
 public:
  Mover(std::mt19937& random, int uncaught) : random_(random), uncaught_(uncaught) {}
  ~Mover() {
    EXPECT_EQ(std::uncaught_exceptions(), uncaught_);
    Move(random_);
    EXPECT_EQ(std::uncaught_exceptions(), uncaught_);
    try {
      throw std::runtime_error("inner");
    } catch (const std::runtime_error& e) {
      Move(random_);
      EXPECT_STREQ(e.what(), "inner");
    }
    EXPECT_EQ(std::uncaught_exceptions(), uncaught_);
  }

 private:
  std::mt19937& random_;
  const int uncaught_;
};

TEST_P(SwitchTest, EachFiberHasItsOwnExceptions) {
  Here([] {
    std::vector<Task<void>> tasks;
    for (int k = 0; k < 8; ++k) {
      tasks.push_back(Go([k] {
        std::mt19937 random(k);
        for (int i = 0; i < Rounds(400); ++i) {
          ExpectNoException();
          Nest(k * 1'000'000 + i * 100, 3, random);
          ExpectNoException();
          try {
            const Mover mover(random, 1);
            throw Numbered{k};
          } catch (const Numbered& caught) {
            EXPECT_EQ(caught.number, k);
            EXPECT_EQ(std::uncaught_exceptions(), 0);
          }
        }
        ExpectNoException();
      }));
    }
    for (Task<void>& task : tasks) task.Join();
    ExpectNoException();
  });
}

TEST_P(SwitchTest, RethrowAfterAMigration) {
  Here([] {
    for (int i = 0; i < Rounds(200); ++i) {
      std::exception_ptr kept;
      Task<void> task = Go([&kept, i] {
        std::mt19937 random(i);
        try {
          throw std::runtime_error(std::to_string(i));
        } catch (...) {
          Move(random);
          kept = std::current_exception();
          Move(random);
          throw;
        }
      });
      try {
        task.Join();
        FAIL();
      } catch (const std::runtime_error& e) {
        ASSERT_EQ(e.what(), std::to_string(i));
      }
      ASSERT_NE(kept, nullptr);
    }
  });
}

// A fiber's stack is used again: it must come without the exceptions of its former tasks.
TEST_P(SwitchTest, AFreshTaskBeginsClean) {
  Here([] {
    Event forever;
    std::vector<Task<void>> handling;
    for (int i = 0; i < 4; ++i) {
      handling.push_back(Go([&] {
        try {
          throw 1;
        } catch (int) {
          forever.Wait();
        }
      }));
    }
    Yield();
    for (int i = 0; i < Rounds(2000); ++i) Go([] { ExpectNoException(); }).Join();
    forever.Set();
    for (Task<void>& task : handling) task.Join();
  });
}

// Cancelled unwinds like any exception, through destructors that wait.
TEST_P(SwitchTest, CancellationThroughDestructorsThatWait) {
  Here([] {
    for (int i = 0; i < Rounds(200); ++i) {
      Task<void> task = Go([i] {
        std::mt19937 random(i);
        const Mover outer(random, 1);
        const Mover inner(random, 1);
        Event().Wait();
      });
      Yield();
      task.Cancel();
      ASSERT_THROW(task.Join(), TaskCancelled);
    }
  });
}

[[gnu::noinline]] int ReadErrno() { return errno; }
[[gnu::noinline]] void WriteErrno(int value) { errno = value; }

[[gnu::noinline]] std::thread::id ThisThread() { return std::this_thread::get_id(); }

// The rule of docs: errno and thread_locals are the thread's. A fiber that reads errno in a
// function that cannot suspend gets that of the thread on which it is. Here also: fibers do move.
TEST(SwitchTest, ErrnoIsTheThreadsAndFibersMove) {
  const Watchdog watchdog;
  csp::Run(
      [] {
        std::atomic<int> moves{0};
        std::atomic<bool> over{false};
        std::vector<Task<void>> tasks;
        for (int k = 0; k < 8; ++k) {
          tasks.push_back(Go([&, k] {
            std::mt19937 random(k);
            std::thread::id last = ThisThread();
            while (!over) {
              WriteErrno(EAGAIN);
              ASSERT_EQ(ReadErrno(), EAGAIN);
              Move(random);
              const std::thread::id now = ThisThread();
              if (now != last && ++moves >= 1000) over = true;
              last = now;
            }
          }));
        }
        for (Task<void>& task : tasks) task.Join();
        EXPECT_GE(moves, 1000);
      },
      {.workers = 4});
}

// More tasks than a sanitizer's shadow of one stack has room for frames that never return.
TEST_P(SwitchTest, AStackServesManyTasks) {
  Here([] {
    for (int i = 0; i < (kTsan ? 100'000 : 200'000) / std::max(1, kAsan ? 4 : 1); ++i) {
      Go([] { Yield(); }).Join();
    }
  });
}

}  // namespace
}  // namespace csp
