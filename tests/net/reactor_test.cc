// The reactor in the scheduler's place for a poller: what sleeps in it is woken by everything that
// may wake it, it costs nothing when nothing happens, and it is looked at when all are busy.
#include "csp/net/internal/reactor.h"

#include <errno.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "csp/net/io_status.h"
#include "tests/net/net_test.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using net::Bytes;

using ReactorTest = NetTest;
CSP_INSTANTIATE(ReactorTest);

long CpuMicroseconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

// --- What wakes it

TEST_P(ReactorTest, APlainThreadWakesWhoeverSleepsInIt) {
  Here([] {
    Pipe pipe;
    Task<std::string> waiting = Go([&] { return ReadSome(pipe.in); });
    AwaitWaiters(1);
    Chan<int> in = MakeChan<int>();
    Chan<int> out = MakeChan<int>();
    Task<void> echo = Go([=] {
      for (int i : in) out.Send(int{i});
    });
    Blocking([=] {
      std::mt19937 random(1);
      for (int i = 0; i < Rounds(2'000); ++i) {
        in.Send(int{i});
        ASSERT_EQ(out.Recv(), i);
        if (i % 64 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
        }
      }
      in.Close();
    });
    echo.Join();
    EXPECT_TRUE(pipe.out.WriteAll("x").ok());
    EXPECT_EQ(waiting.Join(), "x");
  });
}

TEST_P(ReactorTest, TimersGoOffWhileDescriptorsAreWaitedFor) {
  Here([] {
    Pipe pipe;
    Task<std::string> waiting = Go([&] { return ReadSome(pipe.in); });
    for (int i = 0; i < 30; ++i) {
      const absl::Duration nap = absl::Microseconds(20 << i % 10);
      const absl::Time begin = Now();
      csp::SleepFor(nap);
      ASSERT_GE(Now(), begin + nap);
    }
    EXPECT_TRUE(pipe.out.WriteAll("x").ok());
    EXPECT_EQ(waiting.Join(), "x");
  });
}

TEST_P(ReactorTest, AThreadOfTheWorldWritesAndAFiberAnswers) {
  Here([] {
    Pipe there;
    Pipe back;
    Task<void> echo = Go([&] {
      char buffer[1];
      while (there.in.Read(buffer).value() == 1)
        ASSERT_TRUE(back.out.WriteAll(Bytes(buffer, 1)).ok());
    });
    const int to = there.out.native_handle();
    const int from = back.in.native_handle();
    fcntl(from, F_SETFL, fcntl(from, F_GETFL) & ~O_NONBLOCK);
    Blocking([=] {
      for (int i = 0; i < Rounds(2'000); ++i) {
        char c = static_cast<char>(i);
        ASSERT_EQ(write(to, &c, 1), 1);
        ASSERT_EQ(read(from, &c, 1), 1);
        ASSERT_EQ(c, static_cast<char>(i));
      }
    });
    there.out.Close();
    echo.Join();
  });
}

// --- Under load

// Counted, not timed: so many switches take some milliseconds.
TEST_P(ReactorTest, IsLookedAtWhileAThousandFibersYield) {
  Here([this] {
    Pipe pipe;
    std::atomic<bool> over{false};
    std::atomic<long> yields{0};
    std::vector<Task<void>> busy;
    for (int i = 0; i < 1'000; ++i) {
      busy.push_back(Go([&] {
        while (!over) {
          yields.fetch_add(1, std::memory_order_relaxed);
          Yield();
        }
      }));
    }
    for (int i = 0; i < 20; ++i) {
      std::atomic<bool> waits{false};
      Task<long> reader = Go([&] {
        waits = true;
        char buffer[1];
        EXPECT_EQ(*pipe.in.Read(buffer), 1u);
        return yields.load();
      });
      EXPECT_TRUE(EventuallyTrue([&] { return waits.load(); }));
      for (int turn = 0; turn < 3; ++turn) Yield();
      const long before = yields;
      EXPECT_TRUE(pipe.out.WriteAll("x").ok());
      const long turns = reader.Join() - before;
      // With several workers the kernel may keep the one that looks off the processor for any time.
      if (workers() == 1) {
        EXPECT_LE(turns, 2'000'000);
      }
    }
    over = true;
    for (Task<void>& task : busy) task.Join();
  });
}

// --- Idle

TEST(ReactorCostTest, WhoWaitsForADescriptorUsesNoProcessor) {
  for (const int workers : {1, 8}) {
    csp::Run(
        [] {
          Pipe pipe;
          Pipe other;
          Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
          Task<std::string> with_deadline = Go([&] { return ReadSome(other.in); });
          AwaitWaiters(2);
          other.in.SetReadDeadline(Now() + absl::Milliseconds(500));
          const long before = CpuMicroseconds();
          Blocking([] { std::this_thread::sleep_for(std::chrono::seconds(1)); });
          EXPECT_LE(CpuMicroseconds() - before, 20'000);
          EXPECT_TRUE(pipe.out.WriteAll("x").ok());
          EXPECT_EQ(reader.Join(), "x");
          EXPECT_EQ(with_deadline.Join(), "!Descriptor::Read: the deadline has passed");
        },
        {.workers = workers});
  }
}

// K3: the other name of the pipe is ready all the time.
TEST(ReactorCostTest, WhatIsClosedIsNotHeardOfAnyMore) {
  csp::Run(
      [] {
        Pipe pipe;
        Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
        AwaitWaiters(1);
        const int copy = dup(pipe.in.native_handle());
        pipe.in.Close();
        (void)reader.Join();
        EXPECT_TRUE(pipe.out.WriteAll("x").ok());
        const long before = CpuMicroseconds();
        Blocking([] { std::this_thread::sleep_for(std::chrono::milliseconds(500)); });
        EXPECT_LE(CpuMicroseconds() - before, 20'000);
        close(copy);
      },
      {.workers = 2});
}

// --- The deadlock report

[[noreturn]] void ExitOnDeadlock(const std::string&) { std::_Exit(42); }

TEST(ReactorDeathTest, WhoWaitsForADescriptorIsNoDeadlock) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        csp::Run(
            [] {
              Pipe pipe;
              const int fd = pipe.out.native_handle();
              Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
              std::thread([fd] {
                std::this_thread::sleep_for(std::chrono::milliseconds(400));
                (void)!write(fd, "x", 1);
              }).detach();
              (void)reader.Join();
            },
            {.workers = 2, .on_deadlock = &ExitOnDeadlock});
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ReactorDeathTest, WithNobodyWaitingForOneItIs) {
  if (kTsan) GTEST_SKIP() << "the sanitizer has threads of its own";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        csp::Run(
            [] {
              Pipe pipe;
              EXPECT_TRUE(pipe.out.WriteAll("x").ok());
              Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
              (void)reader.Join();
              MakeChan<int>().Recv();
            },
            {.workers = 2, .on_deadlock = &ExitOnDeadlock});
      },
      testing::ExitedWithCode(42), "");
}

// --- Runtimes come and go

TEST(ReactorLifeTest, ADescriptorOutlivesTheRuntimeThatHasRegisteredIt) {
  const Watchdog watchdog;
  Pipe pipe;
  const auto lowest_free = [] {
    const int fd = dup(0);
    close(fd);
    return fd;
  };
  int after_first = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 1) after_first = lowest_free();
    csp::Run(
        [&] {
          Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
          AwaitWaiters(1);
          EXPECT_TRUE(pipe.out.WriteAll("x").ok());
          EXPECT_EQ(reader.Join(), "x");
          Task<std::string> left = Go([&] { return ReadSome(pipe.in); });  // cancelled at the end
          AwaitWaiters(1);
        },
        {.workers = 1 + i % 3});
  }
  EXPECT_EQ(lowest_free(), after_first);  // one reactor at most is kept
}

// A plain thread waits by the reactor of a runtime that ends; then by the default runtime's.
TEST(ReactorLifeTest, WhoStillWaitsWhenARuntimeEndsGoesOnElsewhere) {
  const Watchdog watchdog;
  for (int i = 0; i < Rounds(100); ++i) {
    Pipe pipe;
    std::string got;
    std::thread reader;
    csp::Run(
        [&] {
          Select(pipe.in.OnReadable(), OnTimeout(absl::ZeroDuration()));
          Task<void> first = Go([&] { Select(pipe.in.OnReadable()); });  // registers it here
          AwaitWaiters(1);
          first.Cancel();
          EXPECT_THROW(first.Join(), TaskCancelled);
          reader = std::thread([&] { got = ReadSome(pipe.in); });
          if (i % 2 == 0) AwaitWaiters(1);
        },
        {.workers = 2});
    EXPECT_TRUE(pipe.out.WriteAll("x").ok());
    reader.join();
    EXPECT_EQ(got, "x");
  }
}

// A reactor takes three descriptors.
TEST(ReactorLifeTest, AWaitThatCannotBeBegunIsAnError) {
  csp::Run(
      [] {
        Pipe pipe;
        rlimit limit{};
        ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        const rlimit none{3, limit.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
        char buffer[8];
        const absl::StatusOr<std::size_t> refused = pipe.in.Read(buffer);
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        EXPECT_EQ(net::ErrnoOf(refused.status()), EMFILE) << refused.status();
        Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
        AwaitWaiters(1);
        EXPECT_TRUE(pipe.out.WriteAll("x").ok());
        EXPECT_EQ(reader.Join(), "x");
      },
      {.workers = 2});
}

TEST(ReactorLifeTest, TwoRuntimesTalkThroughPipes) {
  const Watchdog watchdog;
  Pipe there;
  Pipe back;
  const int rounds = Rounds(1'000);
  std::thread other([&] {
    csp::Run(
        [&] {
          char buffer[1];
          for (int i = 0; i < rounds; ++i) {
            ASSERT_EQ(there.in.Read(buffer).value(), 1u);
            ASSERT_TRUE(back.out.WriteAll(Bytes(buffer, 1)).ok());
          }
        },
        {.workers = 2});
  });
  csp::Run(
      [&] {
        for (int i = 0; i < rounds; ++i) {
          char buffer[1] = {static_cast<char>(i)};
          ASSERT_TRUE(there.out.WriteAll(Bytes(buffer, 1)).ok());
          ASSERT_EQ(back.in.Read(buffer).value(), 1u);
        }
      },
      {.workers = 1});
  other.join();
}

}  // namespace
}  // namespace csp
