#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "csp/net/io_status.h"
#include "csp/net/unix_address.h"
#include "csp/net/unix_datagram.h"
#include "csp/net/unix_listener.h"
#include "csp/net/unix_stream.h"
#include "tests/net/net_test.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using net::UnixAddress;
using net::UnixDatagram;
using net::UnixListener;
using net::UnixStream;

using UnixTest = NetTest;
CSP_INSTANTIATE(UnixTest);

// The files of sockets, removed with it. Their names are relative: the path to where a test may write
// is too long for a socket's.
class Folder {
 public:
  Folder() { std::filesystem::current_path(testing::TempDir()); }
  ~Folder() {
    for (const std::string& file : files_) unlink(file.c_str());
  }

  std::string File(const std::string& name) {
    files_.push_back("csp_unix_test_" + name);
    return files_.back();
  }

 private:
  std::vector<std::string> files_;
};

// An abstract name that no other test of this machine has.
std::string AbstractName(const char* name) {
  return "@csp_unix_test/" + std::to_string(getpid()) + "/" + name;
}

// --- Addresses

TEST(UnixAddressTest, WhatIsParsedIsPrintedAgain) {
  const std::string binary("@a\0b", 4);
  for (const std::string& text : {std::string("/run/x"), std::string("./@x"), std::string("@x"),
                                  binary, std::string(107, 'x'), "@" + std::string(107, 'x')}) {
    const auto address = UnixAddress::Parse(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), text);
    EXPECT_EQ(address->is_abstract(), text[0] == '@');
    EXPECT_EQ(*address, *UnixAddress::From(address->data(), address->size()));
  }
  EXPECT_TRUE(UnixAddress().is_unnamed());
  EXPECT_FALSE(*UnixAddress::Parse("@x") == *UnixAddress::Parse("x"));
}

TEST(UnixAddressTest, WhatIsWrongIsSaid) {
  const auto reason = [](std::string_view text) {
    return std::string(UnixAddress::Parse(text).status().message());
  };
  EXPECT_EQ(reason(""),
            "Unix address \"\": is empty; write a path, or \"@name\" for an abstract one");
  EXPECT_EQ(reason("@"), "Unix address \"@\": no name behind the \"@\"");
  const std::string longest(108, 'x');
  EXPECT_EQ(reason(longest), "Unix address \"" + longest +
                                 "\": has 108 bytes, and 107 are the most; take a relative path, "
                                 "or an abstract name");
  EXPECT_NE(reason("@" + longest), "");
  EXPECT_NE(reason(std::string_view("a\0b", 3)).find("has a zero byte in it"), std::string::npos);
  const sockaddr other{AF_INET, {}};
  EXPECT_FALSE(UnixAddress::From(&other, sizeof other).ok());
}

// --- Streams

TEST_P(UnixTest, WhatOneWritesTheOtherReads) {
  Here([] {
    Folder folder;
    for (const std::string& name : {folder.File("stream"), AbstractName("stream")}) {
      auto listener = UnixListener::Listen(name);
      ASSERT_TRUE(listener.ok()) << listener.status();
      EXPECT_EQ(listener->local_address()->ToString(), name);
      Task<absl::StatusOr<UnixStream>> accepted = Go([&] { return listener->Accept(); });
      UnixStream client = *UnixStream::Dial(name);
      UnixStream server = *accepted.Join();
      EXPECT_EQ(client.peer_address()->ToString(), name);
      EXPECT_EQ(server.local_address()->ToString(), name);
      EXPECT_TRUE(server.peer_address()->is_unnamed());
      EXPECT_TRUE(client.WriteAll("hello").ok());
      EXPECT_EQ(ReadSome(server), "hello");
      EXPECT_TRUE(client.CloseWrite().ok());
      EXPECT_EQ(ReadSome(server), "");
      EXPECT_TRUE(server.WriteAll("you").ok());
      EXPECT_EQ(ReadSome(client), "you");
      EXPECT_TRUE(client.CloseRead().ok());
      EXPECT_EQ(ReadSome(client), "");
      EXPECT_EQ(net::ErrnoOf(server.WriteAll("x")), EPIPE);
    }
  });
}

TEST_P(UnixTest, APairIsConnectedBothWays) {
  Here([] {
    auto [a, b] = *UnixStream::Pair();
    const std::string big(Rounds(8) << 20, 'x');
    Task<void> writer = Go([&, &a = a] {
      EXPECT_TRUE(a.WriteAll(big).ok());
      EXPECT_EQ(ReadSome(a), "done");
    });
    std::string got(big.size(), '\0');
    EXPECT_TRUE(b.ReadFull(got).ok());
    EXPECT_EQ(got, big);
    EXPECT_TRUE(b.WriteAll("done").ok());
    writer.Join();
  });
}

TEST_P(UnixTest, WhereNobodyListensIsAnError) {
  Here([] {
    Folder folder;
    const std::string name = folder.File("stream");
    EXPECT_EQ(net::ErrnoOf(UnixStream::Dial(name).status()), ENOENT);
    UnixListener::Listen(name)->Close();
    EXPECT_EQ(UnixStream::Dial(name).status().message(), "UnixStream::Dial: Connection refused");
    EXPECT_EQ(UnixListener::Listen(name).status().message(),
              "UnixListener::Listen: Address already in use");
    EXPECT_EQ(net::ErrnoOf(UnixStream::Dial(AbstractName("nobody")).status()), ECONNREFUSED);
    EXPECT_EQ(UnixStream::Dial("").status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(UnixListener::Listen(std::string(200, 'x')).status().code(),
              absl::StatusCode::kInvalidArgument);
  });
}

// The system refuses at once where the queue is full, and has nothing to wait for.
TEST_P(UnixTest, WhoDialsWaitsForRoomInTheQueue) {
  Here([] {
    const std::string name = AbstractName("full");
    UnixListener listener = *UnixListener::Listen(name, /*backlog=*/0);
    const UnixStream first = *UnixStream::Dial(name);
    EXPECT_EQ(UnixStream::Dial(name, {.timeout = absl::Milliseconds(5)}).status().code(),
              absl::StatusCode::kDeadlineExceeded);
    CancelSource source;
    Task<absl::Status> by_token =
        Go([&] { return UnixStream::Dial(name, {.token = source.token()}).status(); });
    Task<void> by_task = Go([&] { (void)UnixStream::Dial(name); });
    Task<absl::Status> patient = Go([&] { return UnixStream::Dial(name).status(); });
    AwaitWaiters(3);
    source.Cancel(absl::AbortedError("enough"));
    EXPECT_EQ(by_token.Join(), absl::AbortedError("enough"));
    by_task.Cancel();
    EXPECT_THROW(by_task.Join(), TaskCancelled);
    EXPECT_TRUE(listener.Accept().ok());
    EXPECT_TRUE(patient.Join().ok());
  });
}

TEST_P(UnixTest, TheLoopEndsWhenTheListenerIsClosed) {
  Here([] {
    const std::string name = AbstractName("loop");
    UnixListener listener = *UnixListener::Listen(name);
    Task<int> server = Go([&] {
      int count = 0;
      for (UnixStream&& conn : listener) {
        UnixStream mine = std::move(conn);
        EXPECT_EQ(ReadSome(mine), "x");
        ++count;
      }
      return count;
    });
    for (int i = 0; i < 10; ++i) {
      UnixStream client = *UnixStream::Dial(name);
      EXPECT_TRUE(client.WriteAll("x").ok());
      EXPECT_EQ(ReadSome(client), "");
    }
    listener.Close();
    EXPECT_EQ(server.Join(), 10);
    EXPECT_TRUE(listener.status().ok());
  });
}

TEST_P(UnixTest, StreamsAndListenersCanBeSelected) {
  Here([] {
    const std::string name = AbstractName("select");
    UnixListener listener = *UnixListener::Listen(name);
    EXPECT_TRUE(Select(
        listener.OnAccept() >> [](absl::StatusOr<UnixStream>) { return false; },
        Default >> [] { return true; }));
    UnixStream client = *UnixStream::Dial(name);
    Select(listener.OnAcceptable());
    UnixStream server = Select(listener.OnAccept() >>
                               [](absl::StatusOr<UnixStream> conn) { return *std::move(conn); });
    EXPECT_TRUE(Select(client.OnWrite("x") >>
                       [](absl::StatusOr<std::size_t> count) { return count.ok(); }));
    char buffer[4];
    EXPECT_EQ(
        Select(server.OnRead(buffer) >> [](absl::StatusOr<std::size_t> count) { return *count; }),
        1u);
  });
}

// --- Datagrams

TEST_P(UnixTest, ADatagramArrivesWithItsSender) {
  Here([] {
    Folder folder;
    const std::string path = folder.File("datagram");
    UnixDatagram server = *UnixDatagram::Bind(path);
    UnixDatagram client = *UnixDatagram::Bind(AbstractName("client"));
    UnixDatagram nobody = *UnixDatagram::Unbound();
    const UnixAddress to = *UnixAddress::Parse(path);
    EXPECT_EQ(*server.local_address(), to);
    ASSERT_TRUE(client.SendTo("question", to).ok());
    ASSERT_TRUE(nobody.SendTo("note", to).ok());
    char buffer[4];
    auto got = server.RecvFrom(buffer);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(got->truncated());
    EXPECT_EQ(got->sent_size, 8u);
    EXPECT_EQ(got->from, *client.local_address());
    EXPECT_TRUE(server.SendTo("answer", got->from).ok());
    got = server.RecvFrom(buffer);
    EXPECT_FALSE(got->truncated());
    EXPECT_EQ(std::string_view(buffer, got->size), "note");
    EXPECT_TRUE(got->from.is_unnamed());
    char answer[16];
    EXPECT_EQ(client.Recv(answer)->size, 6u);
    EXPECT_EQ(UnixDatagram::Bind(path).status().message(),
              "UnixDatagram::Bind: Address already in use");
    EXPECT_EQ(net::ErrnoOf(nobody.Send("x")), ENOTCONN);
    EXPECT_EQ(net::ErrnoOf(nobody.Connect(*UnixAddress::Parse(folder.File("none")))), ENOENT);
  });
}

TEST_P(UnixTest, ASenderWaitsForTheReceiverItIsConnectedTo) {
  Here([] {
    const std::string name = AbstractName("slow");
    UnixDatagram slow = *UnixDatagram::Bind(name);
    UnixDatagram sender = *UnixDatagram::Unbound();
    UnixDatagram other = *UnixDatagram::Unbound();
    ASSERT_TRUE(sender.Connect(*slow.local_address()).ok());
    EXPECT_EQ(sender.peer_address()->ToString(), name);
    const int count = Rounds(2000);
    int filled = 0;
    while (Select(
        sender.OnSend(std::to_string(filled)) >> [](absl::Status status) { return status.ok(); },
        Default >> [] { return false; })) {
      ++filled;
    }
    EXPECT_EQ(net::ErrnoOf(other.SendTo("x", *slow.local_address())), ENOBUFS);
    Task<void> rest = Go([&] {
      for (int i = filled; i < filled + count; ++i) {
        const absl::Status status = sender.Send(std::to_string(i));
        ASSERT_TRUE(status.ok()) << status;
      }
    });
    AwaitWaiters(1);
    for (int i = 0; i < filled + count; ++i) {
      char buffer[16];
      const auto got = slow.Recv(buffer);
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_EQ(std::string(buffer, got->size), std::to_string(i));
    }
    rest.Join();
  });
}

TEST_P(UnixTest, APairOfDatagramSocketsKeepsTheirBounds) {
  Here([] {
    auto [a, b] = *UnixDatagram::Pair();
    ASSERT_TRUE(a.Send("one").ok());
    ASSERT_TRUE(a.Send("").ok());
    char buffer[16];
    EXPECT_EQ(b.Recv(buffer)->size, 3u);
    EXPECT_EQ(b.Recv(buffer)->size, 0u);
    Task<bool> parked = Go([&, &b = b] {
      char got[16];
      return Select(b.OnRecv(got) >>
                    [&](absl::StatusOr<UnixDatagram::Received> received) { return received.ok(); });
    });
    AwaitWaiters(1);
    ASSERT_TRUE(a.Send("two").ok());
    EXPECT_TRUE(parked.Join());
  });
}

// --- Giving away

TEST_P(UnixTest, ASocketIsGivenAwayAndTakenBack) {
  Here([] {
    auto [a, b] = *UnixStream::Pair();
    UnixStream again = *UnixStream::Adopt(*a.Release());
    EXPECT_TRUE(again.WriteAll("x").ok());
    EXPECT_EQ(ReadSome(b), "x");
    EXPECT_EQ(UnixDatagram::Adopt(again.native_handle()).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(net::TcpStream::Adopt(again.native_handle()).status().code(),
              absl::StatusCode::kInvalidArgument);
    UnixListener listener = *UnixListener::Listen(AbstractName("adopt"));
    UnixListener same = *UnixListener::Adopt(*listener.Release());
    EXPECT_TRUE(UnixStream::Dial(*same.local_address()).ok());
    auto [c, d] = *UnixDatagram::Pair();
    UnixDatagram datagram = *UnixDatagram::Adopt(*c.Release());
    EXPECT_TRUE(datagram.Send("x").ok());
  });
}

}  // namespace
}  // namespace csp
