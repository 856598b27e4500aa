#include "csp/os/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "csp/net/io_status.h"
#include "tests/net/net_test.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using os::Signals;

using SignalsTest = NetTest;
CSP_INSTANTIATE(SignalsTest);

// To the process, where any thread may get it. Not under ThreadSanitizer, which holds a signal back
// while the thread that got it sleeps in csp.
void SendToSelf(int number) {
  if (kTsan) {
    raise(number);
  } else {
    kill(getpid(), number);
  }
}

bool HasCome(Signals& signals) {
  return Select(
      signals.OnSignal() >> [](absl::StatusOr<int>) { return true; },
      Default >> [] { return false; });
}

void (*HandlerOf(int number))(int) {
  struct sigaction action;
  sigaction(number, nullptr, &action);
  return action.sa_handler;
}

TEST_P(SignalsTest, ASignalWakesWhoWaits) {
  Here([] {
    Signals signals = *Signals::Subscribe({SIGUSR1, SIGUSR2});
    Task<int> waiter = Go([&] { return *signals.Wait(); });
    AwaitWaiters(1);
    SendToSelf(SIGUSR2);
    EXPECT_EQ(waiter.Join(), SIGUSR2);
  });
}

TEST_P(SignalsTest, WhatComesBetweenTwoSelectsIsNotLost) {
  Here([] {
    Signals signals = *Signals::Subscribe({SIGUSR1, SIGUSR2});
    const int rounds = Rounds(2000);
    for (int i = 0; i < rounds; ++i) {
      const int number = i % 2 == 0 ? SIGUSR1 : SIGUSR2;
      raise(number);
      EXPECT_EQ(*signals.Wait(), number);
    }
    EXPECT_FALSE(HasCome(signals));
  });
}

TEST_P(SignalsTest, OfSeveralTheLowestIsFirstAndOneThatComesTwiceIsOne) {
  Here([] {
    Signals signals = *Signals::Subscribe({SIGUSR2, SIGUSR1, SIGHUP});
    for (const int number : {SIGUSR2, SIGHUP, SIGUSR1, SIGHUP}) raise(number);
    EXPECT_EQ(*signals.Wait(), SIGHUP);
    EXPECT_EQ(*signals.Wait(), SIGUSR1);
    EXPECT_EQ(*signals.Wait(), SIGUSR2);
    EXPECT_FALSE(HasCome(signals));
  });
}

TEST_P(SignalsTest, EachSubscriberGetsIt) {
  Here([] {
    Signals both = *Signals::Subscribe({SIGUSR1, SIGUSR2});
    Signals one = *Signals::Subscribe({SIGUSR1});
    raise(SIGUSR1);
    raise(SIGUSR2);
    EXPECT_EQ(*one.Wait(), SIGUSR1);
    EXPECT_FALSE(HasCome(one));
    EXPECT_EQ(*both.Wait(), SIGUSR1);
    one.Close();
    EXPECT_EQ(*both.Wait(), SIGUSR2);
    raise(SIGUSR1);
    EXPECT_EQ(*both.Wait(), SIGUSR1);
  });
}

// Whoever is woken for one signal must not take the news of the other along.
TEST_P(SignalsTest, TwoSignalsWakeTwoWhoWait) {
  Here([] {
    Signals signals = *Signals::Subscribe({SIGUSR1, SIGUSR2});
    for (int i = 0; i < Rounds(300); ++i) {
      Task<int> a = Go([&] { return *signals.Wait(); });
      Task<int> b = Go([&] { return *signals.Wait(); });
      if (i % 3 == 0) AwaitWaiters(2);
      SendToSelf(SIGUSR1);
      SendToSelf(SIGUSR2);
      ASSERT_EQ(a.Join() + b.Join(), SIGUSR1 + SIGUSR2);
    }
  });
}

TEST_P(SignalsTest, ALosingCaseTakesNoSignal) {
  Here([] {
    Signals signals = *Signals::Subscribe({SIGUSR1});
    Chan<int> ch = MakeChan<int>(1);
    const int rounds = Rounds(1000);
    for (int i = 0; i < rounds; ++i) {
      ch.Send(i);
      raise(SIGUSR1);
      bool received = false;
      bool signalled = false;
      while (!received || !signalled) {
        Select(
            ch.OnRecv() >> [&](std::optional<int>) { received = true; },
            signals.OnSignal() >>
                [&](absl::StatusOr<int> number) {
                  EXPECT_EQ(*number, SIGUSR1);
                  signalled = true;
                });
      }
    }
    EXPECT_FALSE(HasCome(signals));
  });
}

TEST_P(SignalsTest, CloseAndCancellationEndAWait) {
  Here([] {
    Signals signals = *Signals::Subscribe({SIGUSR1});
    Task<absl::Status> closed = Go([&] { return signals.Wait().status(); });
    Task<void> cancelled = Go([&] { (void)signals.Wait(); });
    AwaitWaiters(2);
    cancelled.Cancel();
    EXPECT_THROW(cancelled.Join(), TaskCancelled);
    std::thread([&] { signals.Close(); }).join();
    EXPECT_TRUE(net::IsClosed(closed.Join()));
    EXPECT_TRUE(net::IsClosed(signals.Wait().status()));
    signals.Close();
    Signals empty;
    EXPECT_THROW((void)empty.Wait(), InvalidArgument);
    empty.Close();
  });
}

std::atomic<int> seen{0};

TEST_P(SignalsTest, WhatWasInstalledBeforeComesBack) {
  Here([] {
    struct sigaction mine {};
    struct sigaction before;
    mine.sa_handler = [](int) { ++seen; };
    ASSERT_EQ(sigaction(SIGUSR1, &mine, &before), 0);
    seen = 0;
    {
      Signals first = *Signals::Subscribe({SIGUSR1});
      Signals second = *Signals::Subscribe({SIGUSR1});
      first = *Signals::Subscribe({SIGUSR2});
      raise(SIGUSR1);
      EXPECT_EQ(*second.Wait(), SIGUSR1);
      Signals moved = std::move(second);
      raise(SIGUSR1);
      EXPECT_EQ(*moved.Wait(), SIGUSR1);
      EXPECT_EQ(seen, 0);
    }
    EXPECT_EQ(HandlerOf(SIGUSR2), SIG_DFL);
    raise(SIGUSR1);
    EXPECT_TRUE(EventuallyTrue([] { return seen == 1; }));
    sigaction(SIGUSR1, &before, nullptr);
  });
}

TEST_P(SignalsTest, WhatCannotBeWaitedForIsRefused) {
  Here([] {
    for (const int number : {0, -1, 65, SIGKILL, SIGSTOP, SIGSEGV, SIGFPE}) {
      EXPECT_EQ(Signals::Subscribe({SIGUSR1, SIGUSR2, number}).status().code(),
                absl::StatusCode::kInvalidArgument)
          << number;
    }
    EXPECT_EQ(Signals::Subscribe({SIGKILL}).status().message(),
              "Signals::Subscribe: 9 is no signal that could be waited for");
    EXPECT_EQ(HandlerOf(SIGUSR1), SIG_DFL);
    EXPECT_EQ(HandlerOf(SIGUSR2), SIG_DFL);
  });
}

// A mailbox must not go while a handler writes into it.
TEST_P(SignalsTest, SubscribersComeAndGoWhileSignalsCome) {
  Here([] {
    Signals keeper = *Signals::Subscribe({SIGUSR1});
    std::atomic<bool> over{false};
    std::thread raiser([&] {
      while (!over) raise(SIGUSR1);
    });
    for (int i = 0; i < Rounds(500); ++i) {
      Signals signals = *Signals::Subscribe({SIGUSR1});
      if (i % 2 == 0) {
        EXPECT_EQ(*signals.Wait(), SIGUSR1);
      }
    }
    over = true;
    raiser.join();
  });
}

}  // namespace
}  // namespace csp
