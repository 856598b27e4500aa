// Every way to send meets every way to receive, whichever of the two waits, from fibers and from
// plain threads. (B1: a sender that did not wait left the receiver asleep.)

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

struct SendWay {
  const char* name;
  void (*send)(const Chan<int>&, int);
};
struct RecvWay {
  const char* name;
  std::optional<int> (*recv)(const Chan<int>&);
};

const SendWay kSendWays[] = {
    {"Send", [](const Chan<int>& ch, int v) { ch.Send(v); }},
    {"TrySend",
     [](const Chan<int>& ch, int v) {
       while (!ch.TrySend(v)) Yield();
     }},
    {"SendFor", [](const Chan<int>& ch, int v) { EXPECT_TRUE(ch.SendFor(absl::Hours(1), v)); }},
    {"SelectSend",
     [](const Chan<int>& ch, int v) {
       Select(
           ch.OnSend(v), OnTimeout(absl::Hours(1)) >> [] { ADD_FAILURE(); });
     }},
    {"SelectSendOrDefault",
     [](const Chan<int>& ch, int v) {
       while (!Select(
           ch.OnSend(v) >> [] { return true; }, Default >> [] { return false; })) {
         Yield();
       }
     }},
};

const RecvWay kRecvWays[] = {
    {"Recv", [](const Chan<int>& ch) { return ch.Recv(); }},
    {"TryRecv",
     [](const Chan<int>& ch) {
       std::optional<int> v;
       while (!ch.TryRecv(v)) Yield();
       return v;
     }},
    {"RecvFor",
     [](const Chan<int>& ch) {
       std::optional<int> v;
       EXPECT_TRUE(ch.RecvFor(absl::Hours(1), v));
       return v;
     }},
    {"SelectRecv",
     [](const Chan<int>& ch) {
       auto never = MakeChan<int>();
       return Select(never.OnRecv(), ch.OnRecv());
     }},
    {"SelectRecvOrDefault",
     [](const Chan<int>& ch) {
       for (;;) {
         std::optional<int> v;
         if (Select(
                 ch.OnRecv() >> [&](std::optional<int> got) { return v = got, true; },
                 Default >> [] { return false; })) {
           return v;
         }
         Yield();
       }
     }},
    {"Range",
     [](const Chan<int>& ch) {
       for (int v : ch) return std::optional<int>(v);
       return std::optional<int>();
     }},
};

// Two who only try never meet on an unbuffered channel: neither waits for the other.
bool BothOnlyTry(const SendWay& send, const RecvWay& recv) {
  const auto tries = [](const std::string& name) {
    return name.find("Try") == 0 || name.find("OrDefault") != std::string::npos;
  };
  return tries(send.name) && tries(recv.name);
}

class ChanPairsTest : public testing::TestWithParam<std::tuple<SendWay, RecvWay>> {
 protected:
  static constexpr std::size_t kCapacities[] = {0, 1, 3};
  const SendWay& send_way() const { return std::get<0>(GetParam()); }
  const RecvWay& recv_way() const { return std::get<1>(GetParam()); }

  // `spawn` runs the sender beside the caller, which receives, and returns what waits for it.
  void Meet(const std::function<std::function<void()>(std::function<void()>)>& spawn) {
    for (std::size_t capacity : kCapacities) {
      if (capacity == 0 && BothOnlyTry(send_way(), recv_way())) continue;
      auto ch = MakeChan<int>(capacity);
      const int count = Rounds(200);
      const std::function<void()> join = spawn([=, this] {
        for (int i = 0; i < count; ++i) send_way().send(ch, i);
      });
      for (int i = 0; i < count; ++i) ASSERT_EQ(recv_way().recv(ch), i);
      join();
    }
  }

  static std::function<void()> SpawnFiber(std::function<void()> body) {
    auto task = std::make_shared<Task<void>>(Go(std::move(body)));
    return [task] { task->Join(); };
  }
  static std::function<void()> SpawnThread(std::function<void()> body) {
    auto thread = std::make_shared<std::thread>(std::move(body));
    return [thread] { thread->join(); };
  }
};

TEST_P(ChanPairsTest, FiberToFiber) {
  for (int workers : {1, 2, 4}) RunAt({workers}, [this] { Meet(&SpawnFiber); });
}
TEST_P(ChanPairsTest, ThreadToFiber) {
  for (int workers : {1, 4}) RunAt({workers}, [this] { Meet(&SpawnThread); });
}
TEST_P(ChanPairsTest, FiberToThread) {
  RunAt({0}, [this] { Meet(&SpawnFiber); });
}
TEST_P(ChanPairsTest, ThreadToThread) {
  RunAt({0}, [this] { Meet(&SpawnThread); });
}

INSTANTIATE_TEST_SUITE_P(All, ChanPairsTest,
                         testing::Combine(testing::ValuesIn(kSendWays),
                                          testing::ValuesIn(kRecvWays)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "To" +
                                  std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace csp
