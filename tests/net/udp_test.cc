#include <errno.h>
#include <sys/socket.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "csp/net/io_status.h"
#include "csp/net/udp_socket.h"
#include "tests/net/net_test.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using net::Endpoint;
using net::UdpSocket;

using UdpTest = NetTest;
CSP_INSTANTIATE(UdpTest);

UdpSocket BindHere() { return *UdpSocket::Bind("127.0.0.1:0"); }

std::string RecvSome(UdpSocket& socket) {
  char buffer[256];
  const auto got = socket.Recv(buffer);
  if (!got.ok()) return "!" + std::string(got.status().message());
  return std::string(buffer, got->size) + (got->truncated() ? "…" : "");
}

TEST_P(UdpTest, ADatagramArrivesWithItsSender) {
  Here([] {
    UdpSocket a = BindHere();
    UdpSocket b = BindHere();
    ASSERT_TRUE(a.SendTo("hello", *b.local_endpoint()).ok());
    char buffer[16];
    const auto got = b.RecvFrom(buffer);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(std::string_view(buffer, got->size), "hello");
    EXPECT_FALSE(got->truncated());
    EXPECT_EQ(got->from, *a.local_endpoint());
    Task<std::string> parked = Go([&] { return RecvSome(a); });
    AwaitWaiters(1);
    EXPECT_TRUE(b.SendTo("you", got->from).ok());
    EXPECT_EQ(parked.Join(), "you");
  });
}

// K9
TEST_P(UdpTest, WhatDoesNotFitIsSaidToBeTruncated) {
  Here([] {
    UdpSocket a = BindHere();
    UdpSocket b = BindHere();
    const Endpoint to = *b.local_endpoint();
    ASSERT_TRUE(a.SendTo(std::string(1800, 'x'), to).ok());
    ASSERT_TRUE(a.SendTo(std::string(300, 'y'), to).ok());
    char buffer[300];
    auto got = b.RecvFrom(buffer);
    EXPECT_TRUE(got->truncated());
    EXPECT_EQ(got->size, 300u);
    EXPECT_EQ(got->sent_size, 1800u);
    EXPECT_EQ(got->from, *a.local_endpoint());
    got = b.RecvFrom(buffer);
    EXPECT_FALSE(got->truncated());
    EXPECT_EQ(std::string(buffer, got->size), std::string(300, 'y'));
    EXPECT_EQ(net::ErrnoOf(a.SendTo(std::string(70'000, 'x'), to)), EMSGSIZE);
  });
}

// K10
TEST_P(UdpTest, ADatagramOfNoBytesIsOne) {
  Here([] {
    UdpSocket a = BindHere();
    UdpSocket b = BindHere();
    const Endpoint to = *b.local_endpoint();
    const int count = Rounds(10'000);
    Task<void> sender = Go([&] {
      char acknowledged[1];
      for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(a.SendTo("", to).ok());
        ASSERT_TRUE(a.RecvFrom(acknowledged).ok());
      }
    });
    for (int i = 0; i < count; ++i) {
      char buffer[1];
      const auto got = b.RecvFrom(buffer);
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_EQ(got->size, 0u);
      ASSERT_FALSE(got->truncated());
      ASSERT_EQ(got->from, *a.local_endpoint());
      ASSERT_TRUE(b.SendTo("x", got->from).ok());
    }
    sender.Join();
  });
}

// K10
TEST_P(UdpTest, WhoReceivesWithoutEndStarvesNobody) {
  Here([] {
    UdpSocket a = BindHere();
    std::atomic<bool> done{false};
    Task<void> other = Go([&] { done = true; });
    char buffer[1];
    while (!done) {
      ASSERT_TRUE(a.SendTo("", *a.local_endpoint()).ok());
      ASSERT_TRUE(a.RecvFrom(buffer).ok());
    }
    other.Join();
  });
}

TEST_P(UdpTest, ABufferOfNoBytesTakesADatagram) {
  Here([] {
    UdpSocket a = BindHere();
    ASSERT_TRUE(a.SendTo("one", *a.local_endpoint()).ok());
    ASSERT_TRUE(a.SendTo("two", *a.local_endpoint()).ok());
    const auto got = a.RecvFrom({});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(got->truncated());
    EXPECT_EQ(got->sent_size, 3u);
    EXPECT_EQ(RecvSome(a), "two");
  });
}

TEST_P(UdpTest, AConnectedSocketHasOnePeer) {
  Here([] {
    UdpSocket a = BindHere();
    UdpSocket b = BindHere();
    UdpSocket stranger = BindHere();
    EXPECT_EQ(net::ErrnoOf(a.Send("x")), EDESTADDRREQ);
    EXPECT_EQ(net::ErrnoOf(a.peer_endpoint().status()), ENOTCONN);
    ASSERT_TRUE(a.Connect(*b.local_endpoint()).ok());
    EXPECT_EQ(*a.peer_endpoint(), *b.local_endpoint());
    ASSERT_TRUE(stranger.SendTo("no", *a.local_endpoint()).ok());
    ASSERT_TRUE(a.Send("yes?").ok());
    EXPECT_EQ(RecvSome(b), "yes?");
    ASSERT_TRUE(b.SendTo("yes", *a.local_endpoint()).ok());
    EXPECT_EQ(RecvSome(a), "yes");
    ASSERT_TRUE(a.Connect(*stranger.local_endpoint()).ok());
    ASSERT_TRUE(a.Send("you").ok());
    EXPECT_EQ(RecvSome(stranger), "you");
  });
}

TEST_P(UdpTest, ThePeersRefusalIsAnErrorAndTheSocketGoesOn) {
  Here([] {
    UdpSocket a = BindHere();
    Endpoint nobody;
    {
      UdpSocket gone = BindHere();
      nobody = *gone.local_endpoint();
    }
    ASSERT_TRUE(a.Connect(nobody).ok());
    ASSERT_TRUE(a.Send("x").ok());
    EXPECT_EQ(RecvSome(a), "!UdpSocket::Recv: Connection refused");
    UdpSocket b = BindHere();
    ASSERT_TRUE(a.Connect(*b.local_endpoint()).ok());
    ASSERT_TRUE(b.SendTo("x", *a.local_endpoint()).ok());
    EXPECT_EQ(RecvSome(a), "x");
  });
}

TEST_P(UdpTest, DeadlinesCloseAndCancellationEndAReceiver) {
  Here([] {
    UdpSocket a = BindHere();
    a.SetReadDeadline(Now() + absl::Milliseconds(1));
    EXPECT_EQ(RecvSome(a), "!UdpSocket::Recv: the deadline has passed");
    a.SetReadDeadline(absl::InfiniteFuture());
    Task<std::string> cancelled = Go([&] { return RecvSome(a); });
    Task<std::string> closed = Go([&] { return RecvSome(a); });
    AwaitWaiters(2);
    cancelled.Cancel();
    EXPECT_THROW(cancelled.Join(), TaskCancelled);
    std::thread([&] { a.Close(); }).join();
    EXPECT_EQ(closed.Join(), "!UdpSocket::Recv: closed");
    EXPECT_TRUE(net::IsClosed(a.SendTo("x", Endpoint())));
  });
}

TEST_P(UdpTest, CanBeSelected) {
  Here([] {
    UdpSocket a = BindHere();
    UdpSocket b = BindHere();
    char buffer[16];
    EXPECT_TRUE(Select(
        a.OnRecvFrom(buffer) >> [](absl::StatusOr<UdpSocket::Received>) { return false; },
        Default >> [] { return true; }));
    EXPECT_TRUE(Select(b.OnSendTo("ping", *a.local_endpoint()) >>
                       [](absl::Status status) { return status.ok(); }));
    Select(a.OnReadable());
    Select(a.OnWritable());
    Select(a.OnRecvFrom(buffer) >> [&](absl::StatusOr<UdpSocket::Received> got) {
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(std::string_view(buffer, got->size), "ping");
      EXPECT_EQ(got->from, *b.local_endpoint());
      ASSERT_TRUE(a.Connect(got->from).ok());
    });
    Select(a.OnSend("pong") >> [](absl::Status status) { EXPECT_TRUE(status.ok()) << status; });
    Select(b.OnRecv(buffer) >> [&](absl::StatusOr<UdpSocket::Received> got) {
      EXPECT_EQ(std::string_view(buffer, got->size), "pong");
    });
  });
}

TEST_P(UdpTest, ALosingCaseTakesAndSendsNothing) {
  Here([] {
    UdpSocket in = BindHere();
    UdpSocket out = BindHere();
    const Endpoint to = *in.local_endpoint();
    Chan<int> ch = MakeChan<int>(1);
    const int rounds = Rounds(2000);
    Task<int> sender = Go([&] {
      char acknowledged[1];
      int sent = 0;
      for (int others = 0; sent < rounds || others < rounds;) {
        Select(When(
                   sent < rounds, out.OnSendTo(std::to_string(sent), to) >>
                                      [&](absl::Status status) {
                                        ASSERT_TRUE(status.ok()) << status;
                                        ++sent;
                                        ASSERT_TRUE(out.RecvFrom(acknowledged).ok());
                                      }),
               When(
                   others < rounds, ch.OnSend(others) >> [&] { ++others; }));
      }
      return sent;
    });
    int datagrams = 0;
    for (int others = 0; datagrams < rounds || others < rounds;) {
      char buffer[16];
      Select(
          in.OnRecvFrom(buffer) >>
              [&](absl::StatusOr<UdpSocket::Received> got) {
                ASSERT_TRUE(got.ok()) << got.status();
                ASSERT_EQ(std::string(buffer, got->size), std::to_string(datagrams));
                ++datagrams;
                ASSERT_TRUE(in.SendTo("", got->from).ok());
              },
          ch.OnRecv() >> [&](std::optional<int> value) { ASSERT_EQ(value, others++); });
    }
    EXPECT_EQ(sender.Join(), rounds);
  });
}

TEST_P(UdpTest, SeveralReceiversGetEachDatagramOnce) {
  Here([] {
    UdpSocket in = BindHere();
    UdpSocket out = BindHere();
    constexpr int kReceivers = 4;
    std::vector<Task<int>> receivers;
    for (int i = 0; i < kReceivers; ++i) {
      receivers.push_back(Go([&] {
        int count = 0;
        char buffer[8];
        for (;;) {
          const auto got = in.RecvFrom(buffer);
          if (!got.ok() || got->size == 0) return count;
          ++count;
          EXPECT_TRUE(in.SendTo("ok", got->from).ok());
        }
      }));
    }
    const int rounds = Rounds(1000);
    for (int i = 0; i < rounds; ++i) {
      ASSERT_TRUE(out.SendTo("x", *in.local_endpoint()).ok());
      ASSERT_EQ(RecvSome(out), "ok");
    }
    for (int i = 0; i < kReceivers; ++i) ASSERT_TRUE(out.SendTo("", *in.local_endpoint()).ok());
    int sum = 0;
    for (Task<int>& receiver : receivers) sum += receiver.Join();
    EXPECT_EQ(sum, rounds);
  });
}

// --- Groups

TEST_P(UdpTest, AGroupHearsWhatIsSentToIt) {
  Here([] {
    UdpSocket member = *UdpSocket::Bind("0.0.0.0:0");
    const Endpoint group = *Endpoint::Parse("239.255.7.7", member.local_endpoint()->port());
    UdpSocket sender = *UdpSocket::Bind("127.0.0.1:0");
    ASSERT_TRUE(sender.SetMulticastInterface("lo").ok());
    ASSERT_TRUE(sender.SetMulticastTtl(0).ok());
    ASSERT_TRUE(sender.SetMulticastLoop(true).ok());
    absl::Status joined = member.JoinMulticast(group, "lo");
    ASSERT_TRUE(joined.ok()) << joined;
    ASSERT_TRUE(sender.SendTo("all", group).ok());
    EXPECT_EQ(RecvSome(member), "all");
    EXPECT_EQ(net::ErrnoOf(member.JoinMulticast(group, "lo")), EADDRINUSE);

    ASSERT_TRUE(member.LeaveMulticast(group, "lo").ok());
    ASSERT_TRUE(sender.SendTo("unheard", group).ok());
    ASSERT_TRUE(sender.SendTo("you", *Endpoint::Parse("127.0.0.1", group.port())).ok());
    EXPECT_EQ(RecvSome(member), "you");
    EXPECT_EQ(net::ErrnoOf(member.LeaveMulticast(group, "lo")), EADDRNOTAVAIL);
  });
}

TEST_P(UdpTest, OptionsArriveAndTheirErrorsAreSaid) {
  Here([] {
    UdpSocket a = BindHere();
    const auto option = [&](int level, int name) {
      int value = -1;
      socklen_t size = sizeof value;
      getsockopt(a.native_handle(), level, name, &value, &size);
      return value;
    };
    ASSERT_TRUE(a.SetMulticastTtl(7).ok());
    EXPECT_EQ(option(IPPROTO_IP, IP_MULTICAST_TTL), 7);
    EXPECT_EQ(net::ErrnoOf(a.SetMulticastTtl(256)), EINVAL);
    ASSERT_TRUE(a.SetMulticastLoop(false).ok());
    EXPECT_EQ(option(IPPROTO_IP, IP_MULTICAST_LOOP), 0);

    const Endpoint everybody = *Endpoint::Parse("127.255.255.255:9");
    EXPECT_EQ(net::ErrnoOf(a.SendTo("x", everybody)), EACCES);
    ASSERT_TRUE(a.SetBroadcast(true).ok());
    EXPECT_TRUE(a.SendTo("x", everybody).ok());
    ASSERT_TRUE(a.SetBroadcast(false).ok());
    EXPECT_EQ(net::ErrnoOf(a.SendTo("x", everybody)), EACCES);

    EXPECT_EQ(a.JoinMulticast(*Endpoint::Parse("239.1.1.1:0"), "none0").message(),
              "UdpSocket::JoinMulticast: there is no interface \"none0\"");
    EXPECT_EQ(net::ErrnoOf(a.JoinMulticast(everybody, "lo")), EINVAL);
  });
}

TEST_P(UdpTest, ASocketOfAllAddressesTakesBothFamilies) {
  Here([] {
    UdpSocket all = *UdpSocket::Bind(":0");
    const Endpoint local = *all.local_endpoint();
    UdpSocket v4 = BindHere();
    ASSERT_TRUE(v4.SendTo("v4", *Endpoint::Parse("127.0.0.1", local.port())).ok());
    char buffer[16];
    const auto got = all.RecvFrom(buffer);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_TRUE(all.SendTo(net::Bytes(buffer, got->size), got->from).ok());
    EXPECT_EQ(RecvSome(v4), "v4");
    if (!local.is_v6()) return;
    UdpSocket v6 = *UdpSocket::Bind("[::1]:0");
    ASSERT_TRUE(v6.SetMulticastTtl(3).ok());
    ASSERT_TRUE(v6.SetMulticastInterface("lo").ok());
    ASSERT_TRUE(v6.SendTo("v6", *Endpoint::Parse("::1", local.port())).ok());
    EXPECT_EQ(RecvSome(all), "v6");
  });
}

// --- Making one

TEST_P(UdpTest, APortIsTakenOnceUnlessShared) {
  Here([] {
    UdpSocket a = BindHere();
    EXPECT_EQ(UdpSocket::Bind(*a.local_endpoint()).status().message(),
              "UdpSocket::Bind: Address already in use");
    UdpSocket shared = *UdpSocket::Bind("127.0.0.1:0", {.reuse_port = true});
    EXPECT_TRUE(UdpSocket::Bind(*shared.local_endpoint(), {.reuse_port = true}).ok());
    UdpSocket reused = *UdpSocket::Bind("127.0.0.1:0", {.reuse_address = true});
    EXPECT_TRUE(UdpSocket::Bind(*reused.local_endpoint(), {.reuse_address = true}).ok());
    EXPECT_EQ(UdpSocket::Bind("127.0.0.1").status().code(), absl::StatusCode::kInvalidArgument);
  });
}

TEST_P(UdpTest, ASocketIsGivenAwayAndTakenBack) {
  Here([] {
    UdpSocket a = BindHere();
    const Endpoint here = *a.local_endpoint();
    UdpSocket again = *UdpSocket::Adopt(*a.Release());
    ASSERT_TRUE(again.SendTo("x", here).ok());
    EXPECT_EQ(RecvSome(again), "x");
    Pipe pipe;
    EXPECT_EQ(UdpSocket::Adopt(pipe.in.native_handle()).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(net::IsClosed(a.Recv({}).status()));
    EXPECT_THROW((void)UdpSocket().Recv({}), InvalidArgument);
  });
}

}  // namespace
}  // namespace csp
