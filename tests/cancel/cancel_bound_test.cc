// What is bound to a token (as a Scope binds its owner and its children): design decisions 6 and 7
// for cancellation that comes from a tree and, unlike a task's, goes again.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "csp/base/panic.h"
#include "csp/cancel/cancel_source.h"
#include "csp/chan/chan.h"
#include "csp/select/blocking.h"
#include "csp/select/cancel_signal.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "csp/time/timer.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using CancelBoundTest = RuntimeTest;
CSP_INSTANTIATE(CancelBoundTest);

// Binds the caller.
class Bound {
 public:
  explicit Bound(const CancelSource& source)
      : token_(source.token()), binding_(*token_.node(), internal::Parker::Current()) {}

 private:
  const CancelToken token_;
  internal::CancelBinding binding_;
};

// Every kind of blocking call, of which none ends by itself, and those that would.
std::vector<std::function<void()>> EveryCall() {
  auto never = std::make_shared<Event>();
  auto timer = std::make_shared<Timer>(absl::InfiniteDuration());
  const Chan<int> empty = MakeChan<int>();
  const Chan<int> ready = MakeChan<int>(kUnbounded);
  return {
      [=] { empty.Recv(); },
      [=] { empty.Send(1); },
      [=] {
        std::optional<int> out;
        (void)empty.RecvFor(absl::Hours(1), out);
      },
      [=] { never->Wait(); },
      [=] { timer->Wait(); },
      [=] { csp::SleepFor(absl::Hours(1)); },
      [=] {
        Select(
            empty.OnRecv() >> [](std::optional<int>) {}, never->OnWait());
      },
      [=] { CancelSource().token().Wait(); },
      [=] {
        for (;;) ready.Send(1);
      },
      [=] {
        for (;;) Yield();
      },
      [=] {
        for (;;) Blocking([] {});
      },
  };
}

TEST_P(CancelBoundTest, EveryCallThrowsAndThenDoesNot) {
  Here([] {
    int kind = 0;
    for (const std::function<void()>& call : EveryCall()) {
      ++kind;
      const CancelSource source;
      {
        const Bound bound(source);
        source.Cancel();
        for (int i = 0; i < 3; ++i) EXPECT_THROW(call(), Cancelled) << kind;
      }
      Yield();
      csp::SleepFor(absl::Microseconds(1));
      const Chan<int> ch = MakeChan<int>(1);
      ch.Send(1);
      EXPECT_EQ(ch.Recv(), 1);
    }
  });
}

// Whoever is bound: a fiber, or a plain thread; at any moment of the call.
TEST_P(CancelBoundTest, AWaitInProgressEnds) {
  Here([] {
    for (int i = 0; i < Rounds(20); ++i) {
      for (const std::function<void()>& call : EveryCall()) {
        const CancelSource source;
        Task<void> canceller = Go([&] {
          for (int k = 0; k < i % 6; ++k) Yield();
          source.Cancel();
        });
        {
          const Bound bound(source);
          EXPECT_THROW(call(), Cancelled);
        }
        canceller.Join();
      }
    }
  });
}

TEST_P(CancelBoundTest, BoundToWhatIsCancelled) {
  Here([] {
    const CancelSource source;
    source.Cancel();
    {
      const Bound bound(source);
      EXPECT_THROW(Yield(), Cancelled);
    }
    Yield();
  });
}

TEST_P(CancelBoundTest, BindingsNest) {
  Here([] {
    const CancelSource outer;
    const CancelSource inner;
    {
      const Bound bound_outer(outer);
      {
        const Bound bound_inner(inner);
        inner.Cancel();
        EXPECT_THROW(Yield(), Cancelled);
        {
          const CancelSource innermost;
          const Bound bound_innermost(innermost);
          EXPECT_THROW(Yield(), Cancelled);
        }
        EXPECT_THROW(Yield(), Cancelled);
      }
      Yield();
      {
        const CancelSource other;
        const Bound bound_other(other);
        outer.Cancel();
        other.Cancel();
        EXPECT_THROW(Yield(), Cancelled);
      }
      EXPECT_THROW(Yield(), Cancelled);
    }
    Yield();
  });
}

TEST_P(CancelBoundTest, ThroughTheTree) {
  Here([] {
    const CancelSource root;
    const CancelSource child(root.token());
    const Bound bound(child);
    Yield();
    root.Cancel();
    EXPECT_THROW(Yield(), Cancelled);
  });
}

TEST_P(CancelBoundTest, ByADeadline) {
  Here([] {
    const CancelSource source({.timeout = absl::Microseconds(100)});
    {
      const Bound bound(source);
      EXPECT_THROW(csp::SleepFor(absl::Hours(1)), Cancelled);
    }
    csp::SleepFor(absl::Microseconds(1));
  });
}

TEST_P(CancelBoundTest, NotUnderAShieldNorWhileUnwinding) {
  Here([] {
    const CancelSource source;
    const Bound bound(source);
    source.Cancel();
    {
      const Shield shield;
      Yield();
      csp::SleepFor(absl::Microseconds(1));
    }
    struct Cleanup {
      ~Cleanup() {
        Yield();
        csp::SleepFor(absl::Microseconds(1));
      }
    };
    EXPECT_THROW(
        {
          const Cleanup cleanup;
          throw std::runtime_error("unwinding");
        },
        std::runtime_error);
    EXPECT_THROW(Yield(), Cancelled);
  });
}

// The task's own cancellation is sticky and outlasts every binding.
TEST_P(CancelBoundTest, TheTasksOwnStays) {
  Here([] {
    Event begun;
    Task<void> task = Go([&] {
      const CancelSource source;
      {
        const Bound bound(source);
        begun.Set();
        EXPECT_THROW(Event().Wait(), Cancelled);
        EXPECT_FALSE(source.cancelled());
        source.Cancel();
      }
      EXPECT_THROW(Event().Wait(), Cancelled);
    });
    begun.Wait();
    task.Cancel();
    task.Join();
  });
}

// More than a sweep holds, parked and not.
TEST_P(CancelBoundTest, ManyAtOnce) {
  Here([] {
    const CancelSource root;
    const CancelSource child(root.token());
    Event never;
    const Chan<int> ch = MakeChan<int>();
    std::vector<Task<void>> tasks;
    for (int i = 0; i < 300; ++i) {
      tasks.push_back(Go([&, i] {
        const Bound bound(i % 2 == 0 ? root : child);
        switch (i % 3) {
          case 0:
            EXPECT_THROW(ch.Recv(), Cancelled);
            break;
          case 1:
            EXPECT_THROW(never.Wait(), Cancelled);
            break;
          default:
            EXPECT_THROW(
                {
                  for (;;) Yield();
                },
                Cancelled);
        }
      }));
    }
    for (int i = 0; i < 10; ++i) Yield();
    root.Cancel();
    for (Task<void>& task : tasks) task.Join();
  });
}

// F3: waiters leave a channel's queue from anywhere in it, and the channel works afterwards.
TEST_P(CancelBoundTest, WhatIsCancelledLeavesNoWaiterBehind) {
  Here([] {
    const Chan<int> ch = MakeChan<int>();
    std::vector<CancelSource> sources(Fibers(300));
    std::vector<Task<void>> tasks;
    for (const CancelSource& source : sources) {
      tasks.push_back(Go([&] {
        const Bound bound(source);
        EXPECT_THROW(ch.Send(1), Cancelled);
      }));
    }
    for (int i = 0; i < 10; ++i) Yield();
    const std::size_t count = sources.size();
    for (std::size_t i = 0; i < count; ++i) sources[i * 7 % count].Cancel();
    for (const CancelSource& source : sources) source.Cancel();
    for (Task<void>& task : tasks) task.Join();
    std::optional<int> out;
    EXPECT_FALSE(ch.TryRecv(out));
    Task<void> sender = Go([&] { ch.Send(2); });
    EXPECT_EQ(ch.Recv(), 2);
    sender.Join();
  });
}

// A loop of deadlines that come is no loop that swallows cancellation: nobody is warned.
TEST(CancelBoundWarningTest, DeadlinesThatComeAreNotHeldAgainstATask) {
  testing::internal::CaptureStderr();
  csp::Run([] {
    for (int i = 0; i < 1200; ++i) {
      const CancelSource source({.timeout = absl::ZeroDuration()});
      const Bound bound(source);
      EXPECT_THROW(Yield(), Cancelled);
    }
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// But a task that is cancelled and tries again and again, each time under a new binding, yields.
TEST(CancelBoundWarningTest, ALoopThatSwallowsAllIsNoticedUnderBindings) {
  testing::internal::CaptureStderr();
  csp::Run(
      [] {
        Event begun;
        bool others_ran = false;
        Task<void> task = Go([&] {
          begun.Set();
          for (int i = 0; i < 1200 || !others_ran; ++i) {
            const CancelSource source;
            try {
              const Bound bound(source);
              Event().Wait();
            } catch (const Cancelled&) {
            }
          }
        });
        begun.Wait();
        task.Cancel();
        Yield();
        others_ran = true;
        task.Join();
      },
      {.workers = 1});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("let csp::Cancelled pass"),
            std::string::npos);
}

// Decision 6: over the races of a cancel with a delivery the values add up.
TEST_P(CancelBoundTest, CommitBeatsCancel) {
  Here([this] {
    // (As a soak test, over all places, more than 10^7 values.)
    const int rounds = Rounds(on_plain_thread() ? 200 : 2000) * (kSoak ? 10 : 1);
    for (int i = 0; i < rounds; ++i) {
      const Chan<int> ch = MakeChan<int>(i % 3);
      const CancelSource source;
      int sent = 0;
      int received = 0;
      Task<void> sender = Go([&] {
        for (int k = 0; k < 4; ++k) {
          i % 2 == 0 ? ch.Send(1) : Select(ch.OnSend(1));
          ++sent;
        }
      });
      Task<void> canceller = Go([&] {
        for (int k = 0; k < i % 7; ++k) Yield();
        source.Cancel();
      });
      try {
        const Bound bound(source);
        for (;;) {
          if (i % 4 < 2) {
            ch.Recv();
          } else {
            Select(ch.OnRecv() >> [](std::optional<int>) {});
          }
          ++received;
        }
      } catch (const Cancelled&) {
      }
      canceller.Join();
      // Unbound: the rest comes undisturbed.
      while (received < 4) {
        ch.Recv();
        ++received;
      }
      sender.Join();
      ASSERT_EQ(sent, received);
      std::optional<int> more;
      ASSERT_FALSE(ch.TryRecv(more));
    }
  });
}

// A canceller comes late: the wait that it meets is one that it does not mean.
TEST_P(CancelBoundTest, NeverHitsTheNextWait) {
  Here([this] {
    const int rounds = Rounds(on_plain_thread() ? 200 : 2000);
    for (int i = 0; i < rounds; ++i) {
      const CancelSource source;
      Task<void> canceller = Go([&] { source.Cancel(); });
      {
        const Bound bound(source);
        for (int k = 0; k < i % 3; ++k) {
          try {
            Yield();
          } catch (const Cancelled&) {
          }
        }
      }
      const Chan<int> ch = MakeChan<int>();
      Task<void> sender = Go([ch, i] { ch.Send(int{i}); });
      if (i % 2 == 0) {
        ASSERT_EQ(ch.Recv(), i);
      } else {
        Select(ch.OnRecv() >> [&](std::optional<int> v) { ASSERT_EQ(v, i); });
      }
      sender.Join();
      canceller.Join();
    }
  });
}

}  // namespace
}  // namespace csp
