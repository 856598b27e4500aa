// Cancellation of a select and of what a select is made of: commit beats cancel, shielded waits and
// unwinding take no notice, and every call is told.

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "csp/sched/yield.h"
#include "gtest/gtest.h"
#include "tests/chan/counted.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelectCancelTest = RuntimeTest;
CSP_INSTANTIATE(SelectCancelTest);

constexpr auto kIgnore = [](const auto&...) {};

// Runs `body` in a task that has been cancelled after it began, and waits for its end.
template <class F>
void InACancelledTask(F body) {
  std::atomic<bool> begun{false}, cancelled{false};
  Task<void> task = Go([&] {
    begun = true;
    while (!cancelled.load()) internal::YieldNow();
    body();
  });
  while (!begun.load()) Yield();
  task.Cancel();
  cancelled = true;
  task.Join();
}

TEST_P(SelectCancelTest, IsLevelTriggered) {
  Here([] {
    auto never = MakeChan<int>();
    auto ready = MakeChan<int>(1);
    ready.Send(7);
    InACancelledTask([&] {
      std::optional<int> v;
      for (int i = 0; i < 5; ++i) {
        EXPECT_THROW((void)never.Recv(), Cancelled);
        EXPECT_THROW((void)ready.Recv(), Cancelled);  // also what would not wait
        EXPECT_THROW(never.Send(1), Cancelled);
        EXPECT_THROW((void)never.RecvFor(absl::Hours(1), v), Cancelled);
        EXPECT_THROW((void)never.SendFor(absl::Hours(1), 1), Cancelled);
        EXPECT_THROW(Select(never.OnRecv() >> kIgnore, ready.OnRecv() >> kIgnore), Cancelled);
        EXPECT_THROW(Select(OnTimeout(absl::ZeroDuration())), Cancelled);
        EXPECT_THROW(csp::SleepFor(absl::Hours(1)), Cancelled);
        EXPECT_THROW(csp::SleepFor(absl::ZeroDuration()), Cancelled);
        EXPECT_THROW(Yield(), Cancelled);
        EXPECT_THROW((void)never.begin(), Cancelled);
      }
    });
    EXPECT_EQ(ready.Recv(), 7);
  });
}

TEST_P(SelectCancelTest, WhatDoesNotBlockIsNotTold) {
  Here([] {
    InACancelledTask([] {
      auto ch = MakeChan<int>(1);
      std::optional<int> v;
      EXPECT_TRUE(ch.TrySend(1));
      EXPECT_TRUE(ch.TryRecv(v));
      Select(
          ch.OnRecv() >> [](std::optional<int>) { ADD_FAILURE(); }, Default);
      Select(ch.OnSend(2), Default);
      Select(
          ch.OnRecv() >> [](std::optional<int> got) { EXPECT_EQ(got, 2); }, Default);
      ch.Close();
      Go([] {}).Detach();
    });
  });
}

TEST_P(SelectCancelTest, AShieldTakesNoNotice) {
  Here([] {
    auto ch = MakeChan<int>();
    auto never = MakeChan<int>();
    Task<void> sender = Go([ch] {
      for (int i = 0; i < 4; ++i) ch.Send(i);
    });
    InACancelledTask([&] {
      {
        const Shield shield;
        EXPECT_EQ(ch.Recv(), 0);
        {
          const Shield nested;
          EXPECT_EQ(Select(ch.OnRecv(), never.OnRecv()), 1);
        }
        std::optional<int> v;
        EXPECT_TRUE(ch.RecvFor(absl::InfiniteDuration(), v));
        EXPECT_EQ(v, 2);
        csp::SleepFor(absl::Microseconds(1));
        Yield();
      }
      EXPECT_THROW((void)ch.Recv(), Cancelled);
      const Shield again;
      EXPECT_EQ(ch.Recv(), 3);
    });
    sender.Join();
  });
}

// Also of a cancellation that comes while it waits.
TEST_P(SelectCancelTest, AShieldedWaitIsNotEnded) {
  Here([] {
    for (int round = 0; round < Rounds(300); ++round) {
      auto ch = MakeChan<int>(), never = MakeChan<int>();
      std::atomic<bool> begun{false};
      Task<int> task = Go([&] {
        const Shield shield;
        begun = true;
        switch (round % 4) {
          case 0:
            return *ch.Recv();
          case 1:
            return *Select(ch.OnRecv(), never.OnRecv());
          case 2: {
            std::optional<int> v;
            (void)ch.RecvFor(absl::Hours(1), v);
            return *v;
          }
          default:
            ch.Send(1);
            return 7;
        }
      });
      while (!begun.load()) Yield();
      for (int i = 0; i < round % 3; ++i) Yield();
      task.Cancel();
      for (int i = 0; i < round % 3; ++i) Yield();
      if (round % 4 == 3) {
        EXPECT_EQ(ch.Recv(), 1);
      } else {
        ch.Send(7);
      }
      ASSERT_EQ(task.Join(), 7);
    }
  });
}

// While the stack unwinds, waits in destructors go through: a throw would end the process.
TEST_P(SelectCancelTest, UnwindingIsNotInterrupted) {
  Here([] {
    auto ch = MakeChan<int>(), never = MakeChan<int>();
    struct CleanUp {
      const Chan<int>& ch;
      const Chan<int>& never;
      ~CleanUp() {
        ch.Send(1);
        EXPECT_EQ(ch.Recv(), 2);
        Select(ch.OnSend(3), never.OnRecv() >> kIgnore);
        std::optional<int> v;
        EXPECT_TRUE(ch.RecvFor(absl::Hours(1), v));
      }
    };
    for (int round = 0; round < Rounds(200); ++round) {
      bool began = false;
      Task<void> task = Go([&] {
        began = true;
        const CleanUp clean_up{ch, never};
        if (round % 2 == 0) {
          (void)never.Recv();
        } else {
          Select(never.OnRecv() >> kIgnore, never.OnSend(1));
        }
      });
      for (int i = 0; i < round % 4; ++i) Yield();
      task.Cancel();
      int talked = 0;
      try {
        for (;;) {
          Select(
              ch.OnRecv() >>
                  [&](std::optional<int> v) {
                    ++talked;
                    ch.Send(*v + 1);
                  },
              task.OnJoin());
        }
      } catch (const TaskCancelled&) {
      }
      EXPECT_EQ(talked, began ? 2 : 0);
    }
  });
}

// Decision 21: a value that has been taken is counted, a value that has not is where it was. The
// sums are exact, whoever is cancelled when.
TEST_P(SelectCancelTest, CommitBeatsCancel) {
  Here([] {
    for (std::size_t capacity : {0, 1, 3}) {
      const int count = Rounds(4'000);
      auto ch = MakeChan<Counted>(capacity);
      auto never = MakeChan<int>();
      std::atomic<std::int64_t> sent{0}, received{0};
      std::atomic<int> next{0};

      const auto send = [&] {
        for (;;) {
          const int i = next++;
          if (i >= count) return;
          Counted value(i);
          try {
            switch (i % 3) {
              case 0:
                ch.Send(std::move(value));
                break;
              case 1:
                EXPECT_TRUE(ch.SendFor(absl::Hours(1), std::move(value)));
                break;
              default:
                Select(ch.OnSend(std::move(value)), never.OnRecv() >> kIgnore);
            }
          } catch (const Cancelled&) {
            EXPECT_EQ(value.value(), i);
            throw;
          }
          EXPECT_TRUE(value.empty());
          sent += i;
        }
      };
      const auto receive = [&] {
        std::optional<Counted> v;
        for (int i = 0;; ++i) {
          v.reset();
          switch (i % 3) {
            case 0:
              if (auto got = ch.Recv()) v.emplace(std::move(*got));
              break;
            case 1:
              EXPECT_TRUE(ch.RecvFor(absl::Hours(1), v));
              break;
            default:
              Select(
                  ch.OnRecv() >>
                      [&](std::optional<Counted> got) {
                        if (got) v.emplace(std::move(*got));
                      },
                  never.OnRecv() >> kIgnore);
          }
          if (!v.has_value()) return;
          received += v->value();
        }
      };

      const auto join = [](Task<void>& task) {
        try {
          task.Join();
        } catch (const TaskCancelled&) {
        }
      };
      std::vector<Task<void>> senders, receivers;
      for (int i = 0; i < 3; ++i) {
        senders.push_back(Go(send));
        receivers.push_back(Go(receive));
      }
      for (unsigned round = 0; next.load() < count; ++round) {
        auto& victims = round % 2 == 0 ? senders : receivers;
        Task<void>& victim = victims[round / 2 % victims.size()];
        victim.Cancel();
        join(victim);
        victim = round % 2 == 0 ? Go(send) : Go(receive);
        for (unsigned i = 0; i < round % 5; ++i) Yield();
      }
      for (auto& sender : senders) join(sender);
      ch.Close();
      for (auto& receiver : receivers) join(receiver);
      EXPECT_EQ(sent.load(), received.load());
      EXPECT_EQ(ch.len(), 0u);
      EXPECT_EQ(Counted::live(), 0);
    }
  });
}

// A cancelled select leaves nothing behind in the objects that it waited for.
TEST_P(SelectCancelTest, LeavesNothingBehind) {
  Here([] {
    auto a = MakeChan<int>(), b = MakeChan<int>();
    Event event;
    for (int round = 0; round < Rounds(500); ++round) {
      Task<void> waiter = Go([&] {
        Select(a.OnRecv() >> kIgnore, b.OnSend(1), event.OnWait(), OnTimeout(absl::Hours(1)));
      });
      for (int i = 0; i < round % 4; ++i) Yield();
      waiter.Cancel();
      EXPECT_THROW(waiter.Join(), TaskCancelled);
      EXPECT_FALSE(a.TrySend(1));
      std::optional<int> v;
      EXPECT_FALSE(b.TryRecv(v));
    }
  });
}

// F3: many waiters of one channel, cancelled in any order; then the channel works.
TEST_P(SelectCancelTest, OfManyWaitersInAnyOrder) {
  Here([] {
    auto ch = MakeChan<int>();
    for (int round = 0; round < Rounds(50); ++round) {
      std::vector<Task<void>> waiters;
      for (int i = 0; i < 30; ++i) {
        waiters.push_back(Go([&, i] {
          if (i % 2 == 0) {
            (void)ch.Recv();
          } else {
            Select(ch.OnRecv() >> kIgnore, OnTimeout(absl::Hours(1)));
          }
        }));
      }
      for (int i = 0; i < round % 40; ++i) Yield();
      for (std::size_t i = 0; i < waiters.size(); ++i) {
        waiters[(i * 7 + static_cast<std::size_t>(round)) % waiters.size()].Cancel();
      }
      for (auto& waiter : waiters) EXPECT_THROW(waiter.Join(), TaskCancelled);
      Task<void> sender = Go([&] { ch.Send(round); });
      EXPECT_EQ(ch.Recv(), round);
      sender.Join();
    }
  });
}

}  // namespace
}  // namespace csp
