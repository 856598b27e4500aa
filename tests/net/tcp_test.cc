#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "csp/net/internal/system.h"
#include "csp/net/io_status.h"
#include "csp/net/resolve.h"
#include "csp/net/tcp_listener.h"
#include "csp/net/tcp_stream.h"
#include "tests/net/net_test.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using net::Endpoint;
using net::TcpListener;
using net::TcpStream;

using TcpTest = NetTest;
CSP_INSTANTIATE(TcpTest);

TcpListener ListenHere() { return *TcpListener::Listen("127.0.0.1:0"); }

struct Connection {
  explicit Connection(TcpListener& listener) {
    Task<absl::StatusOr<TcpStream>> accepted = Go([&] { return listener.Accept(); });
    client = *TcpStream::Dial(*listener.local_endpoint());
    server = *accepted.Join();
  }

  TcpStream client;
  TcpStream server;
};

// --- Connecting

TEST_P(TcpTest, WhatOneWritesTheOtherReads) {
  Here([] {
    TcpListener listener = ListenHere();
    Connection conn(listener);
    EXPECT_TRUE(conn.client.WriteAll("hello").ok());
    EXPECT_EQ(ReadSome(conn.server), "hello");
    EXPECT_TRUE(conn.server.WriteAll("you").ok());
    EXPECT_EQ(ReadSome(conn.client), "you");
    EXPECT_EQ(*conn.client.peer_endpoint(), *listener.local_endpoint());
    EXPECT_EQ(*conn.client.local_endpoint(), *conn.server.peer_endpoint());
    conn.client.Close();
    EXPECT_EQ(ReadSome(conn.server), "");
  });
}

TEST_P(TcpTest, NobodyListensIsAnErrorAtOnce) {
  Here([] {
    Endpoint nobody;
    {
      TcpListener listener = ListenHere();
      nobody = *listener.local_endpoint();
    }
    for (int i = 0; i < Rounds(200); ++i) {
      const auto stream = TcpStream::Dial(nobody);
      ASSERT_EQ(net::ErrnoOf(stream.status()), ECONNREFUSED) << stream.status();
    }
    EXPECT_EQ(TcpStream::Dial(nobody).status().message(), "TcpStream::Dial: Connection refused");
    EXPECT_EQ(TcpStream::Dial("127.0.0.1").status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(TcpStream::Dial(":80").status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(TcpStream::Dial(std::vector<Endpoint>()).status().code(),
              absl::StatusCode::kInvalidArgument);
  });
}

// K15: a listener whose queue is full answers nobody. (The kernel takes one more than it says.)
TEST_P(TcpTest, WhoDoesNotAnswerIsGivenUp) {
  Here([] {
    TcpListener listener = *TcpListener::Listen("127.0.0.1:0", {.backlog = 0});
    const Endpoint full = *listener.local_endpoint();
    const TcpStream first = *TcpStream::Dial(full);
    for (int i = 0; i < 20; ++i) {
      const auto late = TcpStream::Dial(full, {.timeout = absl::Milliseconds(5)});
      ASSERT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
    }
    CancelSource source;
    Task<absl::Status> by_token =
        Go([&] { return TcpStream::Dial(full, {.token = source.token()}).status(); });
    Task<void> by_task = Go([&] { (void)TcpStream::Dial(full); });
    AwaitWaiters(2);
    source.Cancel(absl::AbortedError("enough"));
    EXPECT_EQ(by_token.Join(), absl::AbortedError("enough"));
    by_task.Cancel();
    EXPECT_THROW(by_task.Join(), TaskCancelled);
  });
}

// --- Several addresses

TEST_P(TcpTest, OfSeveralAddressesTheFirstThatAnswersIsTaken) {
  Here([] {
    TcpListener full = *TcpListener::Listen("127.0.0.1:0", {.backlog = 0});
    const TcpStream first = *TcpStream::Dial(*full.local_endpoint());
    TcpListener good = ListenHere();
    Endpoint refused;
    {
      TcpListener listener = ListenHere();
      refused = *listener.local_endpoint();
    }
    const std::vector<Endpoint> endpoints = {refused, *full.local_endpoint(),
                                             *good.local_endpoint()};
    auto stream = TcpStream::Dial(endpoints, {.fallback_delay = absl::Milliseconds(1)});
    ASSERT_TRUE(stream.ok()) << stream.status();
    EXPECT_EQ(*stream->peer_endpoint(), *good.local_endpoint());

    const std::vector<Endpoint> none = {refused, refused, refused};
    EXPECT_EQ(net::ErrnoOf(TcpStream::Dial(none).status()), ECONNREFUSED);
    const std::vector<Endpoint> silent = {*full.local_endpoint(), *full.local_endpoint()};
    EXPECT_EQ(TcpStream::Dial(silent, {.timeout = absl::Milliseconds(5),
                                       .fallback_delay = absl::Milliseconds(1)})
                  .status()
                  .code(),
              absl::StatusCode::kDeadlineExceeded);
  });
}

// --- Names

// A resolver of its own, which may take its time.
class Names final : public internal::System {
 public:
  // Never destroyed: a lookup that nobody waits for any more may still ask it.
  static Names& Make() {
    static auto* all = new std::vector<std::unique_ptr<Names>>;
    return *all->emplace_back(std::make_unique<Names>());
  }

  int Resolve(const char* host, const addrinfo& hints, addrinfo** found, int& error) override {
    const std::string name = host;
    if (name == "dead.test") {
      while (!answer_) std::this_thread::yield();
      return EAI_AGAIN;
    }
    if (name != "good.test") return EAI_NONAME;
    return System::Resolve("127.0.0.1", hints, found, error);
  }

  void Answer() { answer_ = true; }

 private:
  std::atomic<bool> answer_{false};
};

// K12
TEST_P(TcpTest, LookingUpANameHoldsNoWorker) {
  Names& names = Names::Make();
  const internal::ScopedSystem use(&names);
  Here([&] {
    TcpListener listener = ListenHere();
    const std::string port = std::to_string(listener.local_endpoint()->port());
    Task<absl::Status> dead = Go([&] { return net::Resolve("dead.test:" + port).status(); });
    std::vector<Task<void>> lookups;
    for (int i = 0; i < 20; ++i) {
      lookups.push_back(Go([&] {
        const auto found = net::Resolve("good.test:" + port);
        ASSERT_TRUE(found.ok()) << found.status();
        EXPECT_EQ(found->front(), *listener.local_endpoint());
      }));
    }
    for (Task<void>& lookup : lookups) lookup.Join();
    EXPECT_TRUE(TcpStream::Dial("good.test:" + port).ok());
    EXPECT_EQ(net::Resolve("other.test:80").status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(TcpStream::Dial("dead.test:80", {.timeout = absl::Milliseconds(5)}).status().code(),
              absl::StatusCode::kDeadlineExceeded);
    Task<void> cancelled = Go([&] { (void)net::Resolve("dead.test:80"); });
    cancelled.Cancel();
    EXPECT_THROW(cancelled.Join(), TaskCancelled);
    names.Answer();
    EXPECT_EQ(dead.Join().code(), absl::StatusCode::kUnavailable);
  });
}

// --- Listening

TEST_P(TcpTest, AListenerOnAllAddressesTakesBothFamilies) {
  Here([] {
    TcpListener listener = *TcpListener::Listen(":0");
    const std::uint16_t port = listener.local_endpoint()->port();
    for (const char* ip : {"127.0.0.1", "::1"}) {
      if (std::string(ip) == "::1" && !listener.local_endpoint()->is_v6()) continue;
      const TcpStream client = *TcpStream::Dial(*Endpoint::Parse(ip, port));
      EXPECT_TRUE(listener.Accept().ok());
    }
    EXPECT_EQ(net::ErrnoOf(TcpListener::Listen(*listener.local_endpoint()).status()), EADDRINUSE);
  });
}

TEST_P(TcpTest, SeveralListenersMayShareAPort) {
  Here([] {
    TcpListener one = *TcpListener::Listen("127.0.0.1:0", {.reuse_port = true});
    EXPECT_TRUE(TcpListener::Listen(*one.local_endpoint(), {.reuse_port = true}).ok());
  });
}

TEST_P(TcpTest, TheLoopEndsWhenTheListenerIsClosed) {
  Here([] {
    TcpListener listener = ListenHere();
    const Endpoint here = *listener.local_endpoint();
    Task<int> server = Go([&] {
      int count = 0;
      for (TcpStream&& conn : listener) {
        TcpStream mine = std::move(conn);
        EXPECT_EQ(ReadSome(mine), "x");
        ++count;
      }
      return count;
    });
    for (int i = 0; i < 10; ++i) {
      TcpStream client = *TcpStream::Dial(here);
      EXPECT_TRUE(client.WriteAll("x").ok());
      EXPECT_EQ(ReadSome(client), "");
    }
    listener.Close();
    EXPECT_EQ(server.Join(), 10);
    EXPECT_TRUE(listener.status().ok());
    EXPECT_TRUE(net::IsClosed(listener.Accept().status()));
  });
}

TEST_P(TcpTest, AcceptingHasADeadlineAndCanBeSelected) {
  Here([] {
    TcpListener listener = ListenHere();
    listener.SetReadDeadline(Now() + absl::Milliseconds(5));
    EXPECT_EQ(listener.Accept().status().code(), absl::StatusCode::kDeadlineExceeded);
    for (TcpStream&& conn : listener) FAIL() << conn.native_handle();
    EXPECT_EQ(listener.status().code(), absl::StatusCode::kDeadlineExceeded);
    listener.SetReadDeadline(absl::InfiniteFuture());
    EXPECT_TRUE(Select(
        listener.OnAccept() >> [](absl::StatusOr<TcpStream>) { return false; },
        Default >> [] { return true; }));
    const TcpStream client = *TcpStream::Dial(*listener.local_endpoint());
    Select(listener.OnAcceptable());
    EXPECT_TRUE(Select(
        listener.OnAccept() >> [](absl::StatusOr<TcpStream> conn) { return conn.ok(); },
        OnTimeout(absl::Hours(1)) >> [] { return false; }));
  });
}

// What another case of a select has been preferred to stays in the queue.
TEST_P(TcpTest, ALosingAcceptTakesNoConnection) {
  Here([] {
    TcpListener listener = ListenHere();
    Chan<int> ch = MakeChan<int>(1);
    const int rounds = Rounds(300);
    Task<void> clients = Go([&] {
      for (int i = 0; i < rounds; ++i) {
        TcpStream client = *TcpStream::Dial(*listener.local_endpoint());
        ch.Send(1);
        ASSERT_EQ(ReadSome(client), "x");
      }
    });
    int accepted = 0;
    int received = 0;
    while (accepted < rounds || received < rounds) {
      Select(
          listener.OnAccept() >>
              [&](absl::StatusOr<TcpStream> conn) {
                ++accepted;
                EXPECT_TRUE(conn->WriteAll("x").ok());
              },
          ch.OnRecv() >> [&](std::optional<int>) { ++received; });
    }
    clients.Join();
  });
}

// R7
TEST_P(TcpTest, ABurstOfConnectionsIsAcceptedWhole) {
  Here([] {
    TcpListener listener = ListenHere();
    const int count = kTsan ? 100 : 400;
    Task<int> server = Go([&] {
      int accepted = 0;
      for (TcpStream&& conn : listener) {
        (void)conn;
        if (++accepted == count) return accepted;
      }
      return accepted;
    });
    WithScope([&](Scope& s) {
      for (int i = 0; i < count; ++i) {
        s.Go([&] { EXPECT_TRUE(TcpStream::Dial(*listener.local_endpoint()).ok()); });
      }
    });
    EXPECT_EQ(server.Join(), count);
  });
}

// --- Ends

// K7
TEST_P(TcpTest, AHalfClosedConnectionStillCarriesTheOtherWay) {
  Here([] {
    TcpListener listener = ListenHere();
    Connection conn(listener);
    EXPECT_TRUE(conn.client.CloseWrite().ok());
    EXPECT_EQ(ReadSome(conn.server), "");
    const std::string big(1 << 20, 'x');
    Task<void> sender = Go([&] {
      EXPECT_TRUE(conn.server.WriteAll(big).ok());
      conn.server.Close();
    });
    std::string got(big.size(), '\0');
    EXPECT_TRUE(conn.client.ReadFull(got).ok());
    EXPECT_EQ(got, big);
    EXPECT_EQ(ReadSome(conn.client), "");
    EXPECT_EQ(net::ErrnoOf(conn.client.WriteAll("x")), EPIPE);
    sender.Join();
  });
}

TEST_P(TcpTest, ADeadlineWakesAReaderAfterAHalfClose) {
  Here([] {
    TcpListener listener = ListenHere();
    Connection conn(listener);
    EXPECT_TRUE(conn.client.CloseWrite().ok());
    Task<std::string> reader = Go([&] { return ReadSome(conn.client); });
    AwaitWaiters(1);
    conn.client.SetReadDeadline(absl::InfinitePast());
    EXPECT_EQ(reader.Join(), "!TcpStream::Read: the deadline has passed");
    EXPECT_TRUE(conn.client.CloseRead().ok());
    conn.client.SetReadDeadline(absl::InfiniteFuture());
    EXPECT_EQ(ReadSome(conn.client), "");
  });
}

TEST_P(TcpTest, AResetIsAnError) {
  Here([] {
    TcpListener listener = ListenHere();
    Connection conn(listener);
    Task<absl::Status> reader = Go([&] {
      char buffer[1];
      return conn.client.Read(buffer).status();
    });
    AwaitWaiters(1);
    EXPECT_TRUE(conn.server.SetResetOnClose(true).ok());
    conn.server.Close();
    EXPECT_EQ(net::ErrnoOf(reader.Join()), ECONNRESET);
    EXPECT_EQ(net::ErrnoOf(conn.client.WriteAll("x")), EPIPE);
  });
}

// K4
TEST_P(TcpTest, CloseEndsAReaderAWriterAndAnAcceptor) {
  Here([] {
    for (const bool by_thread : {false, true}) {
      TcpListener listener = ListenHere();
      Connection conn(listener);
      Task<absl::Status> acceptor = Go([&] { return listener.Accept().status(); });
      Task<std::string> reader = Go([&] { return ReadSome(conn.client); });
      Task<absl::Status> writer =
          Go([&] { return conn.client.WriteAll(std::string(64 << 20, 'x')); });
      AwaitWaiters(3);
      const auto close = [&] {
        listener.Close();
        conn.client.Close();
      };
      if (by_thread) {
        std::thread(close).join();
      } else {
        close();
      }
      EXPECT_EQ(reader.Join(), "!TcpStream::Read: closed");
      EXPECT_TRUE(net::IsClosed(writer.Join()));
      EXPECT_TRUE(net::IsClosed(acceptor.Join()));
    }
  });
}

// K14
TEST_P(TcpTest, BothDirectionsAtOnce) {
  Here([] {
    const std::size_t size = kTsan || kAsan ? 2 << 20 : 16 << 20;
    TcpListener listener = ListenHere();
    Connection conn(listener);
    const auto send = [&](TcpStream& stream, char what) {
      EXPECT_TRUE(stream.WriteAll(std::string(size, what)).ok());
      EXPECT_TRUE(stream.CloseWrite().ok());
    };
    const auto receive = [&](TcpStream& stream, char what) {
      std::size_t total = 0;
      for (std::string buffer(1 << 16, '\0');;) {
        const auto count = stream.Read(buffer);
        ASSERT_TRUE(count.ok()) << count.status();
        if (*count == 0) break;
        ASSERT_EQ(std::count(buffer.begin(), buffer.begin() + *count, what), *count);
        total += *count;
      }
      EXPECT_EQ(total, size);
    };
    WithScope([&](Scope& s) {
      s.Go([&] { send(conn.client, 'c'); });
      s.Go([&] { send(conn.server, 's'); });
      s.Go([&] { receive(conn.client, 's'); });
      s.Go([&] { receive(conn.server, 'c'); });
    });
  });
}

// --- Options and handles

// L6
TEST_P(TcpTest, NothingIsInheritedByAnotherProgram) {
  Here([] {
    const auto inherited = [] {
      std::FILE* list = popen("ls /proc/self/fd", "r");
      std::string text;
      for (int c; (c = std::getc(list)) != EOF;) text += static_cast<char>(c);
      pclose(list);
      return text;
    };
    const std::string before = inherited();
    TcpListener listener = ListenHere();
    Connection conn(listener);
    Task<std::string> reader = Go([&] { return ReadSome(conn.client); });
    AwaitWaiters(1);
    EXPECT_EQ(inherited(), before);
    conn.client.Close();
    (void)reader.Join();
  });
}

TEST_P(TcpTest, OptionsReachTheSocket) {
  Here([] {
    TcpListener listener = ListenHere();
    Connection conn(listener);
    const auto option = [&](int level, int name) {
      int value = -1;
      socklen_t size = sizeof value;
      getsockopt(conn.client.native_handle(), level, name, &value, &size);
      return value;
    };
    EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_TRUE(conn.client.SetNoDelay(false).ok());
    EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_TRUE(conn.client.SetKeepAlive(absl::Seconds(7), absl::Milliseconds(1), 3).ok());
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 7);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 1);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
    EXPECT_TRUE(conn.client.StopKeepAlive().ok());
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 0);
    conn.client.Close();
    EXPECT_TRUE(net::IsClosed(conn.client.SetNoDelay(true)));
  });
}

TEST_P(TcpTest, ASocketIsGivenAwayAndTakenBack) {
  Here([] {
    TcpListener listener = ListenHere();
    Connection conn(listener);
    const int fd = *conn.client.Release();
    EXPECT_FALSE(conn.client.is_open());
    TcpStream again = *TcpStream::Adopt(fd);
    EXPECT_TRUE(again.WriteAll("x").ok());
    EXPECT_EQ(ReadSome(conn.server), "x");
    TcpListener same = *TcpListener::Adopt(*listener.Release());
    EXPECT_TRUE(TcpStream::Dial(*same.local_endpoint()).ok());
    Pipe pipe;
    EXPECT_EQ(TcpStream::Adopt(pipe.in.native_handle()).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(net::ErrnoOf(TcpStream::Adopt(-1).status()), EBADF);
  });
}

}  // namespace
}  // namespace csp
