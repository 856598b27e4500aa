// M1: what is made in one kind of context is used in another: main, plain threads, fibers.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/after_func.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

Chan<int> made_before_main = MakeChan<int>(1);

TEST(PlainThreadsTest, ObjectsFromBeforeMain) {
  const Watchdog watchdog;
  made_before_main.Send(1);
  csp::Run([] { EXPECT_EQ(made_before_main.Recv(), 1); });
  Go([] { made_before_main.Send(2); });
  EXPECT_EQ(made_before_main.Recv(), 2);
}

TEST(PlainThreadsTest, ThreadsTalkWithoutAnyFiber) {
  const Watchdog watchdog;
  const Chan<int> ch = MakeChan<int>();
  Event ready;
  std::thread sender([&] {
    ready.Wait();
    for (int i = 0; i < 1000; ++i) ch.Send(int{i});
    ch.Close();
  });
  ready.Set();
  int expected = 0;
  for (int i : ch) EXPECT_EQ(i, expected++);
  EXPECT_EQ(expected, 1000);
  sender.join();
}

TEST(PlainThreadsTest, EveryVerb) {
  const Watchdog watchdog;
  std::thread([] {
    SleepFor(absl::Microseconds(10));
    Yield();
    EXPECT_EQ(Blocking([] { return 1; }), 1);
    EXPECT_EQ(BlockingDetached([] { return 2; }).Join(), 2);
    Task<int> task = Go([] { return 3; });
    EXPECT_EQ(Select(task.OnJoin()), 3);
    Select(
        MakeChan<int>().OnRecv() >> [](std::optional<int>) { ADD_FAILURE(); },
        OnTimeout(absl::Microseconds(10)) >> [] {});
    const Chan<int> fired = MakeChan<int>(1);
    (void)AfterFunc(absl::Microseconds(10), [fired] { fired.Send(4); });
    EXPECT_EQ(fired.Recv(), 4);
    const Shield shield;
    Event set;
    set.Set();
    set.Wait();
  }).join();
}

TEST(PlainThreadsTest, ATaskJoinedByAnotherContextThanItsMaker) {
  const Watchdog watchdog;
  Task<int> from_fiber;
  csp::Run([&] { from_fiber = BlockingDetached([] { return 5; }); });
  EXPECT_EQ(from_fiber.Join(), 5);
  Task<int> from_main = Go([] { return 6; });
  csp::Run([&] { EXPECT_EQ(from_main.Join(), 6); });
}

TEST(PlainThreadsTest, ManyShortLivedThreads) {
  const Watchdog watchdog;
  const Chan<int> ch = MakeChan<int>();
  Task<long> sum = Go([ch] {
    long total = 0;
    for (int i : ch) total += i;
    return total;
  });
  const int count = Rounds(1000);
  for (int i = 0; i < count; ++i) std::thread([ch, i] { ch.Send(int{i}); }).join();
  ch.Close();
  EXPECT_EQ(sum.Join(), static_cast<long>(count) * (count - 1) / 2);
}

// M3: the user's own event loop, on his own thread, completes into fibers through channels.
class UsersLoop {
 public:
  UsersLoop() : thread_([this] { Loop(); }) {}
  ~UsersLoop() {
    Post(nullptr);
    thread_.join();
  }
  void Post(std::function<void()> f) {
    {
      const std::lock_guard lock(mu_);
      queue_.push(std::move(f));
    }
    cv_.notify_one();
  }

 private:
  void Loop() {
    for (;;) {
      std::unique_lock lock(mu_);
      cv_.wait(lock, [this] { return !queue_.empty(); });
      const std::function<void()> f = std::move(queue_.front());
      queue_.pop();
      lock.unlock();
      if (!f) return;
      f();
    }
  }

  std::mutex mu_;
  std::condition_variable cv_;
  std::queue<std::function<void()>> queue_;
  std::thread thread_;
};

TEST(PlainThreadsTest, AForeignLoopCompletesIntoFibers) {
  const Watchdog watchdog;
  for (const int workers : {1, 2, 4}) {
    UsersLoop loop;
    csp::Run(
        [&] {
          std::vector<Task<void>> tasks;
          for (int k = 0; k < 4; ++k) {
            tasks.push_back(Go([&] {
              const Chan<int> done = MakeChan<int>(1);
              for (int i = 0; i < Rounds(3000); ++i) {
                loop.Post([done, i] { EXPECT_TRUE(done.TrySend(int{i})); });
                ASSERT_EQ(done.Recv(), i);
              }
            }));
          }
          for (Task<void>& task : tasks) task.Join();
        },
        {.workers = workers});
  }
}

// What never suspends may be called under the user's own mutex.
TEST(PlainThreadsTest, NonSuspendingCallsUnderAnOsMutex) {
  const Watchdog watchdog;
  csp::Run(
      [] {
        std::mutex mu;
        int inside = 0;
        const Chan<int> ch = MakeChan<int>(1);
        std::vector<Task<void>> tasks;
        for (int k = 0; k < 4; ++k) {
          tasks.push_back(Go([&] {
            for (int i = 0; i < Rounds(500); ++i) {
              {
                const std::lock_guard lock(mu);
                ASSERT_EQ(++inside, 1);
                std::optional<int> out;
                if (!ch.TrySend(1)) (void)ch.TryRecv(out);
                Go([] {}).Detach();
                Event event;
                event.Set();
                --inside;
              }
              Yield();
            }
          }));
        }
        for (Task<void>& task : tasks) task.Join();
      },
      {.workers = 2});
}

}  // namespace
}  // namespace csp
