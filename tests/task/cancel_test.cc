// Task::Cancel: it ends every kind of wait, at any moment, and never more than that.
// (cancel_unwind_test.cc: what the cancelled fiber still may do.)
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "csp/base/panic.h"
#include "csp/chan/broadcast.h"
#include "csp/chan/chan.h"
#include "csp/chan/watch.h"
#include "csp/sched/dump.h"
#include "csp/select/blocking.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using CancelTest = RuntimeTest;
CSP_INSTANTIATE(CancelTest);

template <class F>
void ExpectCancelled(Task<F>& task) {
  EXPECT_THROW(task.Join(), TaskCancelled);
}

// Joins a task that would never end.
void JoinInVain(bool by_select) {
  auto never = std::make_shared<Event>();
  Task<void> task = Go([never] { never->Wait(); });
  try {
    by_select ? Select(task.OnJoin()) : task.Join();
  } catch (const Cancelled&) {
    task.Cancel();
    throw;
  }
}

// Every kind of wait, of which none ever ends by itself.
std::vector<std::function<void()>> EveryWait() {
  auto never = std::make_shared<Event>();
  const Chan<int> empty = MakeChan<int>();
  const Chan<int> full = MakeChan<int>(1);
  full.Send(0);
  const Chan<int> unbuffered = MakeChan<int>();
  const Broadcast<int> quiet = MakeBroadcast<int>(1);
  const Watch<int> settled = MakeWatch(0);
  return {
      [=] { empty.Recv(); },
      [=] { full.Send(1); },
      [=] { unbuffered.Send(1); },
      [=] {
        std::optional<int> out;
        (void)empty.RecvFor(absl::Hours(1), out);
      },
      [=] { (void)full.SendFor(absl::Hours(1), 1); },
      [=] { quiet.Subscribe().Recv(); },
      [=] {
        WatchReader<int> reader = settled.Subscribe();
        (void)reader.Get();
        reader.Next();
      },
      [=] { never->Wait(); },
      [=] { SleepFor(absl::Hours(1)); },
      [=] { SleepUntil(absl::InfiniteFuture()); },
      [=] {
        Select(
            empty.OnRecv() >> [](std::optional<int>) {}, never->OnWait());
      },
      [=] {
        BroadcastReader<int> reader = quiet.Subscribe();
        Select(
            reader.OnRecv() >> [](std::optional<Delivery<int>>) {}, never->OnWait());
      },
      [=] { Select(full.OnSend(1), OnTimeout(absl::Hours(1))); },
      [=] {
        PriSelect(
            empty.OnRecv() >> [](std::optional<int>) {}, full.OnSend(1));
      },
      [=] { JoinInVain(false); },
      [=] { JoinInVain(true); },
  };
}

// Loops over what may suspend but never waits for long.
std::vector<std::function<void()>> EveryLoop() {
  return {
      [] {
        for (;;) Yield();
      },
      [] {
        for (;;) Blocking([] {});
      },
      [] {
        const Chan<int> ready = MakeChan<int>(1);  // operations that never wait
        for (;;) {
          ready.Send(1);
          ready.Recv();
        }
      },
  };
}

// At any moment: before the task begins, on its way to the wait, in it.
TEST_P(CancelTest, EndsEveryKindOfWaitAtAnyMoment) {
  Here([] {
    for (int k = 0; k < Rounds(20); ++k) {
      for (const auto& every : {EveryWait(), EveryLoop()}) {
        int kind = 0;
        for (const std::function<void()>& wait : every) {
          ++kind;
          Task<void> task = Go([&] { wait(); });
          for (int i = 0; i < k; ++i) Yield();
          task.Cancel();
          EXPECT_THROW(task.Join(), TaskCancelled) << "kind " << kind << " of " << every.size();
        }
      }
    }
  });
}

// Cancels `wait` once it is under way.
void CancelInProgress(const std::function<void()>& wait, bool parks) {
  std::atomic<bool> begun{false};
  bool unwound = false;
  Task<void> task = Go([&] {
    begun = true;
    try {
      wait();
    } catch (const Cancelled&) {
      unwound = true;
      throw;
    }
  });
  const std::string parked = "fiber " + std::to_string(task.number()) + " parked in ";
  EXPECT_TRUE(EventuallyTrue(
      [&] { return parks ? DumpFibers().find(parked) != std::string::npos : begun.load(); }));
  task.Cancel();
  ExpectCancelled(task);
  EXPECT_TRUE(unwound);
}

TEST_P(CancelTest, EndsAWaitInProgress) {
  Here([] {
    for (const std::function<void()>& wait : EveryWait()) CancelInProgress(wait, true);
    for (const std::function<void()>& loop : EveryLoop()) CancelInProgress(loop, false);
  });
}

TEST(CancelAtOneWorkerTest, ATaskThatHasNotBegunNeverDoes) {
  csp::Run(
      [] {
        bool ran = false;
        auto alive = std::make_shared<int>(1);
        const std::weak_ptr<int> watch = alive;
        Task<void> task = Go([&ran, alive = std::move(alive)] { ran = true; });
        task.Cancel();
        task.Cancel();
        ExpectCancelled(task);
        EXPECT_FALSE(ran);
        EXPECT_TRUE(watch.expired());
      },
      {.workers = 1});
}

TEST_P(CancelTest, ATaskThatNeverWaitsReturns) {
  Here([] {
    std::atomic<bool> begun{false};
    std::atomic<bool> cancelled{false};
    Task<int> task = Go([&] {
      const Chan<int> ch = MakeChan<int>(1);
      std::optional<int> out;
      begun = true;
      while (!cancelled) {
        EXPECT_TRUE(ch.TrySend(1));
        EXPECT_TRUE(ch.TryRecv(out));
        Select(
            ch.OnRecv() >> [](std::optional<int>) { ADD_FAILURE(); }, Default >> [] {});
        const Shield shield;
        Yield();
      }
      return 5;
    });
    while (!begun) Yield();
    task.Cancel();
    cancelled = true;
    EXPECT_EQ(task.Join(), 5);
  });
}

TEST_P(CancelTest, IsLevelTriggered) {
  Here([] {
    std::atomic<bool> begun{false};
    Task<int> task = Go([&] {
      int thrown = 0;
      const Chan<int> ready = MakeChan<int>(8);
      begun = true;
      while (thrown < 10) {
        try {
          thrown % 2 == 0 ? SleepFor(absl::Hours(1)) : ready.Send(1);
        } catch (const Cancelled&) {
          ++thrown;
        }
      }
      return thrown + static_cast<int>(ready.len());
    });
    while (!begun) Yield();
    task.Cancel();
    EXPECT_EQ(task.Join(), 10);
  });
}

TEST_P(CancelTest, OfATaskThatHasEnded) {
  Here([] {
    Task<int> task = Go([] { return 1; });
    while (!task.done()) Yield();
    task.Cancel();
    EXPECT_EQ(task.Join(), 1);
  });
}

// The canceller's word may come when the fiber already runs another task.
TEST_P(CancelTest, NeverHitsTheFibersNextTask) {
  Here([] {
    for (int i = 0; i < Rounds(3000); ++i) {
      Task<void> cancelled = Go([] { Yield(); });
      Yield();
      Task<int> other = Go([i] {
        for (int k = 0; k < 4; ++k) Yield();
        const Chan<int> ch = MakeChan<int>();
        Go([ch, i] { ch.Send(int{i}); });
        return *ch.Recv();
      });
      cancelled.Cancel();
      ASSERT_EQ(other.Join(), i);
      try {
        cancelled.Join();
      } catch (const TaskCancelled&) {
      }
    }
  });
}

// Decision 6: no value is lost or made up by a race with cancellation.
TEST_P(CancelTest, CommitBeatsCancel) {
  Here([this] {
    // From a plain thread each round waits for the kernel's scheduler several times.
    const int rounds = Rounds(on_plain_thread() ? 200 : 3000);
    for (int i = 0; i < rounds; ++i) {
      const Chan<int> ch = MakeChan<int>(i % 3);
      std::atomic<int> sent{0};
      std::atomic<int> received{0};
      Task<void> sender = Go([&] {
        for (;;) {
          i % 2 == 0 ? ch.Send(1) : Select(ch.OnSend(1));
          ++sent;
        }
      });
      Task<void> receiver = Go([&] {
        for (;;) {
          std::optional<int> value;
          if (i % 4 < 2) {
            value = ch.Recv();
          } else {
            Select(ch.OnRecv() >> [&](std::optional<int> v) { value = v; });
          }
          if (!value) return;
          ++received;
        }
      });
      for (int k = 0; k < i % 5; ++k) Yield();
      if (i % 8 < 4) {
        sender.Cancel();
        ExpectCancelled(sender);
        ch.Close();
        receiver.Join();
      } else {
        receiver.Cancel();
        ExpectCancelled(receiver);
        sender.Cancel();
        ExpectCancelled(sender);
        std::optional<int> left;
        while (ch.TryRecv(left)) ++received;
      }
      ASSERT_EQ(sent, received);
    }
  });
}

// From a plain thread, racing the return of one wait and the beginning of the next.
TEST_P(CancelTest, FromAPlainThreadAtAnyMoment) {
  Here([] {
    const Chan<Task<void>*> to_cancel = MakeChan<Task<void>*>();
    const Chan<int> cancelled = MakeChan<int>(1);
    Task<void> canceller = BlockingDetached([=] {
      std::mt19937 random(1);
      for (Task<void>* task : to_cancel) {
        for (int i = static_cast<int>(random() % 3000); i > 0; --i) {
          std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        task->Cancel();
        cancelled.Send(1);
      }
    });
    for (int i = 0; i < Rounds(3000); ++i) {
      const Chan<int> a = MakeChan<int>();
      Event b;
      Task<void> task = Go([&] {
        for (;;) {
          switch (i % 4) {
            case 0:
              a.Recv();
              break;
            case 1:
              Select(
                  a.OnRecv() >> [](std::optional<int>) {}, b.OnWait());
              break;
            case 2:
              SleepFor(absl::Microseconds(3));
              break;
            default:
              Yield();
          }
        }
      });
      to_cancel.Send(&task);
      for (std::optional<int> done; !cancelled.TryRecv(done);) {
        (void)a.TrySend(1);
        Yield();
      }
      ExpectCancelled(task);
    }
    to_cancel.Close();
    canceller.Join();
  });
}

// What is cancelled is the task alone, never who joins it.
TEST_P(CancelTest, TheJoinerIsNotCancelled) {
  Here([] {
    Go([] {
      Task<void> inner = Go([] { Event().Wait(); });
      inner.Cancel();
      ExpectCancelled(inner);
      Yield();
      SleepFor(absl::Microseconds(1));
    }).Join();
  });
}

}  // namespace
}  // namespace csp
