// Selects that meet selects: no pairing is lost, none happens twice, nobody waits for ever.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/chan/counted.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SelectMeetTest = RuntimeTest;
CSP_INSTANTIATE(SelectMeetTest);

constexpr auto kIgnore = [](const auto&...) {};

// What one actor has sent and received so far; sums of the values.
struct Account {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  int operations = 0;
};

void ExpectBalanced(const std::vector<Account>& accounts) {
  std::int64_t sent = 0, received = 0;
  int operations = 0;
  for (const Account& account : accounts) {
    sent += account.sent;
    received += account.received;
    operations += account.operations;
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(operations % 2, 0);
}

// Runs `turn(account, i)` in each of `actors` fibers until together they have done `operations`;
// then closes the channels, which ends them all.
template <class Turn>
std::vector<Account> RunActors(int actors, int operations, std::vector<Chan<int>> channels,
                               Turn turn) {
  std::atomic<int> done{0};
  Event enough;
  std::vector<Task<Account>> tasks;
  for (int actor = 0; actor < actors; ++actor) {
    tasks.push_back(Go([&, actor] {
      Account account;
      try {
        for (bool open = true; open;) {
          open = turn(actor, account);
          if (!open) break;
          ++account.operations;
          if (done.fetch_add(1) + 1 == operations) enough.Set();
        }
      } catch (const ClosedChannel&) {
      }
      return account;
    }));
  }
  enough.Wait();
  for (const auto& ch : channels) ch.Close();
  std::vector<Account> accounts;
  for (auto& task : tasks) accounts.push_back(task.Join());
  return accounts;
}

// One turn of "send on `out`, or receive from `in`, whichever comes": true if something passed.
bool SendOrRecv(const Chan<int>& out, const Chan<int>& in, Account& account) {
  const int value = account.operations * 7 + 1;
  return Select(
      out.OnSend(value) >>
          [&] {
            account.sent += value;
            return true;
          },
      in.OnRecv() >>
          [&](std::optional<int> v) {
            account.received += v.value_or(0);
            return v.has_value();
          });
}

// BurntSushi/chan 20 (a deadlock), photon (never meet).
TEST_P(SelectMeetTest, SendSelectMeetsRecvSelect) {
  Here([] {
    for (std::size_t capacity : {0, 1}) {
      auto ch = MakeChan<int>(capacity), never = MakeChan<int>();
      const int count = Rounds(20'000);
      Task<void> sender = Go([=] {
        for (int i = 0; i < count; ++i) Select(ch.OnSend(i), never.OnRecv() >> kIgnore);
      });
      for (int i = 0; i < count; ++i) {
        ASSERT_EQ(Select(never.OnRecv(), ch.OnRecv()), i);
      }
      sender.Join();
    }
  });
}

// A = {send x, recv y}, B = {send y, recv x}: each pairing is one of the two, in both directions.
TEST_P(SelectMeetTest, MirroredPair) {
  Here([] {
    auto x = MakeChan<int>(), y = MakeChan<int>();
    const auto accounts = RunActors(2, Rounds(40'000), {x, y}, [&](int actor, Account& account) {
      return actor == 0 ? SendOrRecv(x, y, account) : SendOrRecv(y, x, account);
    });
    ExpectBalanced(accounts);
    EXPECT_EQ(accounts[0].sent, accounts[1].received);
    EXPECT_EQ(accounts[1].sent, accounts[0].received);
  });
}

// Both select to send and to receive on one and the same channel.
TEST_P(SelectMeetTest, BothDirectionsOfOneChannel) {
  Here([] {
    for (int actors : {2, 3, 4, 7}) {
      auto x = MakeChan<int>();
      ExpectBalanced(RunActors(actors, Rounds(10'000), {x},
                               [&](int, Account& account) { return SendOrRecv(x, x, account); }));
    }
  });
}

// Everybody on the same two channels.
TEST_P(SelectMeetTest, ManyOnTwoChannels) {
  Here([] {
    for (int actors : {3, 4, 8}) {
      auto x = MakeChan<int>(), y = MakeChan<int>();
      ExpectBalanced(RunActors(actors, Rounds(10'000), {x, y}, [&](int actor, Account& account) {
        return actor % 2 == 0 ? SendOrRecv(x, y, account) : SendOrRecv(y, x, account);
      }));
    }
  });
}

// In a ring each waits for its neighbours, the worst case for a protocol that starts over.
TEST_P(SelectMeetTest, Ring) {
  Here([] {
    for (std::size_t size : {3, 4, 5}) {
      std::vector<Chan<int>> ring;
      for (std::size_t i = 0; i < size; ++i) ring.push_back(MakeChan<int>());
      ExpectBalanced(
          RunActors(static_cast<int>(size), Rounds(10'000), ring, [&](int actor, Account& account) {
            const auto i = static_cast<std::size_t>(actor);
            return SendOrRecv(ring[i], ring[(i + 1) % size], account);
          }));
    }
  });
}

// The same between plain threads, which run in parallel from the first moment.
TEST_P(SelectMeetTest, RingOfThreads) {
  Here([] {
    constexpr std::size_t kSize = 3;
    std::vector<Chan<int>> ring;
    for (std::size_t i = 0; i < kSize; ++i) ring.push_back(MakeChan<int>());
    std::array<Account, kSize> accounts;
    std::atomic<int> done{0};
    Event enough;
    const int operations = Rounds(3'000);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kSize; ++i) {
      threads.emplace_back([&, i] {
        try {
          while (SendOrRecv(ring[i], ring[(i + 1) % kSize], accounts[i])) {
            ++accounts[i].operations;
            if (done.fetch_add(1) + 1 == operations) enough.Set();
          }
        } catch (const ClosedChannel&) {
        }
      });
    }
    enough.Wait();
    for (const auto& ch : ring) ch.Close();
    for (auto& thread : threads) thread.join();
    ExpectBalanced({accounts.begin(), accounts.end()});
  });
}

// PriSelects arm in declared order: two that are declared crosswise still meet.
TEST_P(SelectMeetTest, MirroredPriSelects) {
  Here([] {
    auto x = MakeChan<int>(), y = MakeChan<int>();
    ExpectBalanced(RunActors(2, Rounds(20'000), {x, y}, [&](int actor, Account& account) {
      const Chan<int>& out = actor == 0 ? x : y;
      const Chan<int>& in = actor == 0 ? y : x;
      return PriSelect(
          out.OnSend(1) >>
              [&] {
                ++account.sent;
                return true;
              },
          in.OnRecv() >>
              [&](std::optional<int> v) {
                account.received += v.value_or(0);
                return v.has_value();
              });
    }));
  });
}

// D5, cobalt 206: many producers, one selecting consumer; what is sent is received.
TEST_P(SelectMeetTest, FanInLosesNothing) {
  Here([] {
    constexpr int kProducers = 4;
    const int count = Rounds(5'000);
    std::vector<Chan<Counted>> chans;
    std::vector<Task<void>> producers;
    auto never = MakeChan<int>();
    for (int p = 0; p < kProducers; ++p) {
      chans.push_back(MakeChan<Counted>(static_cast<std::size_t>(p % 2)));
      producers.push_back(Go([=, ch = chans.back()] {
        for (int i = 0; i < count; ++i) {
          if (p < 2) {
            ch.Send(Counted(i));
          } else {
            Select(ch.OnSend(Counted(i)), never.OnRecv() >> kIgnore);
          }
        }
      }));
    }
    std::array<int, kProducers> next{};
    const auto take = [&](std::size_t p) {
      return [&next, p](std::optional<Counted> v) { EXPECT_EQ(v->value(), next[p]++); };
    };
    for (int i = 0; i < kProducers * count; ++i) {
      Select(chans[0].OnRecv() >> take(0), chans[1].OnRecv() >> take(1),
             chans[2].OnRecv() >> take(2), chans[3].OnRecv() >> take(3));
    }
    for (auto& producer : producers) producer.Join();
    for (int n : next) EXPECT_EQ(n, count);
    EXPECT_EQ(Counted::live(), 0);
  });
}

// B2: producers that change between a rendezvous and a condition; a consumer that gives way between
// its receives. Nobody is left asleep.
TEST_P(SelectMeetTest, ChannelAndConditionWithAYieldInBetween) {
  Here([] {
    constexpr int kProducers = 2;
    const int count = Rounds(50'000);
    auto direct = MakeChan<int>();
    auto filled = MakeChan<Unit>(1);  // the condition: something lies in the box
    std::mutex mu;
    std::vector<int> box;
    std::vector<Task<void>> producers;
    for (int p = 0; p < kProducers; ++p) {
      producers.push_back(Go([&, p] {
        for (int i = 1; i <= count; ++i) {
          if ((i + p) % 2 == 0) {
            direct.Send(i);
          } else {
            {
              const std::lock_guard lock(mu);
              box.push_back(i);
            }
            (void)filled.TrySend({});
          }
        }
      }));
    }
    std::int64_t sum = 0;
    for (int received = 0; received < kProducers * count;) {
      Select(
          direct.OnRecv() >>
              [&](std::optional<int> v) {
                sum += *v;
                ++received;
              },
          filled.OnRecv() >>
              [&](auto) {
                const std::lock_guard lock(mu);
                for (int v : box) sum += v;
                received += static_cast<int>(box.size());
                box.clear();
              });
      if (received % 3 == 0) Yield();
    }
    for (auto& producer : producers) producer.Join();
    EXPECT_EQ(sum, std::int64_t{kProducers} * count * (count + 1) / 2);
  });
}

// raven 403: a select that leaves takes nobody's wake-up along. Two selects wait for the same
// value; the one that is decided elsewhere at that moment must not swallow it.
TEST_P(SelectMeetTest, LeavingTakesNoWakeUpAlong) {
  Here([] {
    for (int round = 0; round < Rounds(2'000); ++round) {
      auto shared = MakeChan<int>(), own = MakeChan<int>();
      Task<int> leaver = Go([=] {
        return Select(
            shared.OnRecv() >> [](std::optional<int>) { return 1; },
            own.OnRecv() >> [](std::optional<int>) { return 0; });
      });
      Task<int> stayer = Go([=] { return shared.Recv().has_value() ? 1 : 0; });
      Task<void> elsewhere = Go([=] { (void)own.TrySend(1); });
      shared.Send(1);
      elsewhere.Join();
      // Whoever is left over is ended by the close, without a value.
      shared.Close();
      own.Close();
      const int stayed = stayer.Join();
      const int left = leaver.Join();
      ASSERT_LE(stayed + left, 2);
      ASSERT_GE(stayed + left, 1);
    }
  });
}

}  // namespace
}  // namespace csp
