// csp/sched/internal/idle under every interleaving: work that has been pushed is never left with
// everybody asleep, and whoever is called or roused is so once.
//
// The workers here are those of watch.cc, cut down to what touches Idle: a queue is a counter, a
// task is a number, a nap is a sleep that ends by itself.
#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "csp/base/clock.h"
#include "csp/sched/internal/idle.h"
#include "csp/sched/internal/poll_turn.h"
#include "csp/testing/model.h"
#include "gtest/gtest.h"

namespace csp::internal {
namespace {

using csp::testing::Model;
using csp::testing::ModelRun;

// The reactor: a sleep that Break ends, also in advance.
class Poller {
 public:
  void Break() { broken_.store(true); }
  void Poll() {
    while (!broken_.load()) CpuRelax();
    PollNow();
  }
  void PollNow() { broken_.store(false); }

 private:
  Atomic<bool> broken_{false};
};

// ---------------------------------------------------------------------------
// One watcher, one pusher.

struct Meeting {
  Idle::Level level;
  bool foreign;                 // the push
  std::memory_order publishes;  // the push's store
  bool barrier;                 // the watcher's, before it looks
};

Model::Result Explore(Model::Memory memory, const Meeting& meeting) {
  return Model({.memory = memory}).Explore([&](ModelRun& run) {
    Idle idle;
    Poller poller;
    Atomic<int> queue{0};
    run.Name(idle, "idle");
    run.Name(poller, "poller");
    run.Name(queue, "queue");
    int breaks = 0;
    int roused = 0;
    run.Thread("watcher", [&] {
      for (;;) {
        idle.Announce(meeting.level);
        if (meeting.barrier) HeavyBarrier();
        if (queue.load() == 0) poller.Poll();
        if (idle.Wake()) ++roused;
        if (queue.exchange(0) == 1) return;
      }
    });
    run.Thread("pusher", [&] {
      queue.store(1, meeting.publishes);
      if (meeting.foreign ? idle.WakeAfterForeignPush() : idle.WakeAfterLocalPush()) {
        ++breaks;
        poller.Break();
      }
    });
    run.Join();
    run.Check(breaks == roused, "whoever swaps the level breaks the poller, and only he");
    run.Check(idle.roused(), "the watcher left its level behind");
  });
}

class IdleModelTest : public ::testing::TestWithParam<Model::Memory> {};

TEST_P(IdleModelTest, APushIsSeenOrWakes) {
  for (const Meeting& meeting : {Meeting{Idle::kSleeping, false, std::memory_order_release, true},
                                 Meeting{Idle::kSleeping, true, std::memory_order_seq_cst, true},
                                 Meeting{Idle::kNapping, true, std::memory_order_seq_cst, false}}) {
    const Model::Result result = Explore(GetParam(), meeting);
    EXPECT_TRUE(result.ok) << result;
    EXPECT_GT(result.executions, 1u);
  }
}

// What the barriers are for: else the store may still be in its buffer when the level is read.
TEST(IdleModelOrderTest, BothSidesMustPay) {
  for (const Meeting& meeting : {Meeting{Idle::kSleeping, false, std::memory_order_release, false},
                                 Meeting{Idle::kNapping, true, std::memory_order_release, false}}) {
    EXPECT_TRUE(Explore(Model::Memory::kSequential, meeting).ok);
    const Model::Result result = Explore(Model::Memory::kStoreBuffers, meeting);
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.failure.find("deadlock"), std::string::npos) << result;
  }
}

// A timer that becomes due before the watcher would wake by itself (time stands still here).
TEST_P(IdleModelTest, AnEarlierTimerIsSeenOrWakes) {
  constexpr std::int64_t kLater = 10;
  constexpr std::int64_t kSooner = 5;
  bool broke = false;
  bool needless = false;
  const Model::Result result = Model({.memory = GetParam()}).Explore([&](ModelRun& run) {
    Idle idle;
    Poller poller;
    Atomic<std::int64_t> next{kLater};  // of a timer heap
    run.Thread("watcher", [&] {
      std::int64_t until;
      do {
        until = next.load();
        idle.NoteUntil(until);
        idle.Announce(Idle::kSleeping);
        HeavyBarrier();
        if (until == kLater && next.load() == until) poller.Poll();
        idle.Wake();
      } while (until != kSooner);
    });
    run.Thread("armer", [&] {
      needless |= idle.WakeForTimer(kLater);  // no sooner than what it sleeps to
      next.store(kSooner, std::memory_order_release);
      if (idle.WakeForTimer(kSooner)) {
        broke = true;
        poller.Break();
      }
    });
    run.Join();
  });
  EXPECT_TRUE(result.ok) << result;
  EXPECT_TRUE(broke);
  EXPECT_FALSE(needless);
}

// A parked worker is called, and the watcher, which still takes all for idle, sees that worker's
// task: that must not make it sleep at a level at which the worker's own pushes and timers wake
// nobody. (The worker runs its task, which arms a timer, and is idle again.)
Model::Result ACalledWorkerArmsATimer(Model::Memory memory, bool downgrades) {
  return Model({.memory = memory}).Explore([downgrades](ModelRun& run) {
    Idle idle;
    Poller poller;
    Atomic<int> queue{1};
    Atomic<std::int64_t> next{kForever};  // of the worker's timer heap
    run.Name(idle, "idle");
    run.Name(poller, "poller");
    run.Name(queue, "queue");
    run.Name(next, "next timer");
    run.Thread("watcher", [&] {
      for (;;) {
        const std::int64_t until = next.load();
        const auto quiet = [&] { return queue.load() == 0 && next.load() == until; };
        if (until != kForever) return;
        bool sleeps = idle.MaySleep(until, quiet);
        if (!sleeps) {
          const bool may_nap = idle.MayNap([] { return true; });
          sleeps = downgrades && may_nap && quiet();
        }
        if (sleeps) {
          poller.Poll();
        } else {
          CpuRelax();  // the nap
        }
        idle.Wake();
      }
    });
    run.Thread("worker", [&] {
      queue.store(0, std::memory_order_release);
      next.store(5, std::memory_order_release);
      if (idle.WakeForTimer(5)) poller.Break();
    });
    run.Join();
  });
}

TEST_P(IdleModelTest, AWatcherThatSawSomethingDoesNotSleep) {
  const Model::Result result = ACalledWorkerArmsATimer(GetParam(), false);
  EXPECT_TRUE(result.ok) << result;
  EXPECT_GT(result.executions, 1u);
}

TEST_P(IdleModelTest, NotEvenAfterASecondLook) {
  const Model::Result result = ACalledWorkerArmsATimer(GetParam(), true);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.failure.find("deadlock"), std::string::npos) << result;
}

// A busy worker looks into the poller just then, and may take the Break.
TEST_P(IdleModelTest, ABusyWorkersLookTakesNoWakeUp) {
  const Model::Result result = Model({.memory = GetParam()}).Explore([](ModelRun& run) {
    // Poll(INT64_MIN) is the look.
    struct Reactor {
      void Poll(std::int64_t until) { until == INT64_MIN ? poller.PollNow() : poller.Poll(); }
      Poller poller;
    };
    Idle idle;
    PollTurn turn;
    Reactor reactor;
    Atomic<Reactor*> installed{&reactor};
    Atomic<int> queue{0};
    run.Name(idle, "idle");
    run.Name(turn, "turn");
    run.Name(reactor, "reactor");
    run.Name(queue, "queue");
    run.Thread("watcher", [&] {
      for (;;) {
        if (idle.MaySleep(kForever, [&] { return queue.load() == 0; }) &&
            !turn.Sleep(idle, installed, kForever)) {
          CpuRelax();
        }
        idle.Wake();
        if (queue.load() == 1) return;
      }
    });
    run.Thread("busy", [&] { turn.Look(installed); });
    run.Thread("pusher", [&] {
      queue.store(1);
      if (idle.WakeAfterForeignPush()) reactor.poller.Break();
    });
    run.Join();
  });
  EXPECT_TRUE(result.ok) << result;
}

// ---------------------------------------------------------------------------
// Whole workers.

// A queue as InjectQueue is one.
class Queue {
 public:
  void Push() {
    const std::lock_guard lock(mu_);
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }
  bool Pop() {
    if (empty()) return false;
    const std::lock_guard lock(mu_);
    const int size = size_.load(std::memory_order_relaxed);
    if (size == 0) return false;
    size_.store(size - 1, std::memory_order_relaxed);
    return true;
  }
  int size() const { return size_.load(std::memory_order_seq_cst); }
  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }

 private:
  SpinLock mu_{LockRank::kQueue};
  Atomic<int> size_{0};
};

class Workers {
 public:
  Workers(ModelRun& run, int count) : run_(run), seats_(count), inboxes_(count) {
    run.Name(idle_, "idle");
    run.Name(poller_, "poller");
    run.Name(global_, "global");
    for (int i = 0; i < count; ++i) {
      run.Name(seats_[i], "seat" + std::to_string(i));
      run.Name(inboxes_[i], "inbox" + std::to_string(i));
    }
  }

  // A foreign thread's push; Runtime::MakeReady.
  void Push() {
    global_.Push();
    if (idle_.WakeAfterForeignPush()) poller_.Break();
  }

  // Pinned work; Worker::PushInbox.
  void PushPinned(int worker) {
    inboxes_[worker].Push();
    SummonIfIdle(worker);
  }

  // One turn of Worker::Run: returns when there is a task for this worker.
  void FindTask(int self) {
    if (Next(self)) return;
    for (;;) {
      if (idle_.WatchOrPark(seats_[self])) {
        Watch(self);
        if (Idle::Seat* heir = idle_.Resign()) Call(*heir);
        return;
      }
      if (!inboxes_[self].empty()) SummonIfIdle(self);
      AwaitCall(seats_[self]);
      idle_.Unparked();
      if (Next(self)) {
        if (Idle::Seat* heir = idle_.TakeHeir()) Call(*heir);
        return;
      }
    }
  }

  // After the Join.
  void CheckQuiet() {
    run_.Check(global_.empty(), "work was left");
    run_.Check(idle_.count() == 0, "the count of idle workers is wrong");
    run_.Check(idle_.PopParked() == nullptr, "a seat was left parked");
    run_.Check(idle_.roused(), "the watcher left its level behind");
  }

 private:
  bool Next(int self) { return inboxes_[self].Pop() || global_.Pop(); }

  void Watch(int self) {
    for (;;) {
      const auto quiet = [&] { return inboxes_[self].size() == 0 && global_.size() == 0; };
      if (idle_.MaySleep(kForever, quiet)) poller_.Poll();
      idle_.Wake();
      if (Next(self)) return;
    }
  }

  void SummonIfIdle(int worker) {
    switch (idle_.Summon(seats_[worker])) {
      case Idle::Summons::kNone:
        break;
      case Idle::Summons::kCall:
        Call(seats_[worker]);
        break;
      case Idle::Summons::kBreak:
        poller_.Break();
        break;
    }
  }

  void Call(Idle::Seat& seat) {
    run_.Check(seat.called.load() == 0, "called twice");
    seat.called.store(1, std::memory_order_release);
  }
  void AwaitCall(Idle::Seat& seat) {
    while (seat.called.load(std::memory_order_acquire) == 0) CpuRelax();
  }

  ModelRun& run_;
  Idle idle_;
  Poller poller_;
  Queue global_;
  std::vector<Idle::Seat> seats_;
  std::vector<Queue> inboxes_;
};

// Each task waits for the others to run: so all workers must come, however they slept.
Model::Result PushesFindWorkers(const Model::Options& options, int count) {
  return Model(options).Explore([count](ModelRun& run) {
    Workers workers(run, count);
    Atomic<int> running{0};
    for (int i = 0; i < count; ++i) {
      run.Thread("worker " + std::to_string(i), [&, i] {
        workers.FindTask(i);
        running.fetch_add(1);
        while (running.load() != count) CpuRelax();
      });
    }
    run.Thread("pusher", [&] {
      for (int i = 0; i < count; ++i) workers.Push();
    });
    run.Join();
    workers.CheckQuiet();
  });
}

TEST_P(IdleModelTest, TwoPushesFindTwoWorkers) {
  const int bound = GetParam() == Model::Memory::kSequential ? 2 : 1;
  const Model::Result result =
      PushesFindWorkers({.memory = GetParam(), .max_preemptions = bound}, 2);
  EXPECT_TRUE(result.ok) << result;
}

// With a third, who is called in the place of one that was called and has found work.
TEST_P(IdleModelTest, ThreePushesFindThreeWorkers) {
  const Model::Result result = PushesFindWorkers({.memory = GetParam(), .max_preemptions = 1}, 3);
  EXPECT_TRUE(result.ok) << result;
}

// Pinned work wakes its worker, be that the watcher, parked, or about to be either.
TEST_P(IdleModelTest, PinnedWorkFindsItsWorker) {
  const Model model(
      {.memory = GetParam(), .max_preemptions = GetParam() == Model::Memory::kSequential ? 2 : 1});
  const Model::Result result = model.Explore([](ModelRun& run) {
    Workers workers(run, 2);
    for (int i = 0; i < 2; ++i) {
      run.Thread("worker " + std::to_string(i), [&, i] { workers.FindTask(i); });
    }
    run.Thread("pusher", [&] {
      workers.PushPinned(0);
      workers.PushPinned(1);
    });
    run.Join();
    workers.CheckQuiet();
  });
  EXPECT_TRUE(result.ok) << result;
}

INSTANTIATE_TEST_SUITE_P(Memory, IdleModelTest,
                         ::testing::Values(Model::Memory::kSequential,
                                           Model::Memory::kStoreBuffers));

}  // namespace
}  // namespace csp::internal
