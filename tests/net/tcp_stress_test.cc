// Connections that break at any moment, and calls that are ended from all sides.
#include <sys/socket.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "tests/net/net_test.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using net::Bytes;
using net::Endpoint;
using net::TcpListener;
using net::TcpStream;

using TcpStressTest = NetTest;
CSP_INSTANTIATE(TcpStressTest);

void Echo(TcpStream conn) {
  char buffer[4096];
  for (;;) {
    const absl::StatusOr<std::size_t> count = conn.Read(buffer);
    if (!count.ok() || *count == 0) return;
    if (!conn.WriteAll(Bytes(buffer, *count)).ok()) return;
  }
}

// A client that talks for a while, and then leaves in one of the ways there are.
void TalkAndLeave(const Endpoint& server, std::uint32_t seed) {
  std::minstd_rand random(seed);
  absl::StatusOr<TcpStream> conn = TcpStream::Dial(server);
  ASSERT_TRUE(conn.ok()) << conn.status();
  const std::string sent(1 + random() % 10'000, 'x');
  for (std::uint32_t left = random() % 4; left > 0; --left) {
    ASSERT_TRUE(conn->WriteAll(sent).ok());
    std::string got(sent.size(), '\0');
    ASSERT_TRUE(conn->ReadFull(got).ok());
    ASSERT_EQ(got, sent);
  }
  switch (random() % 4) {
    case 0:
      break;
    case 1:  // in the middle of a message
      (void)conn->Write(sent);
      break;
    case 2:
      (void)conn->Write(sent);
      (void)conn->SetResetOnClose(true);
      break;
    case 3:
      (void)conn->CloseWrite();
      EXPECT_EQ(ReadSome(*conn), "");
      break;
  }
}

TEST_P(TcpStressTest, ClientsMayBreakOffAtAnyMoment) {
  Here([] {
    TcpListener listener = *TcpListener::Listen("127.0.0.1:0");
    const Endpoint here = *listener.local_endpoint();
    Task<void> server = Go([&] {
      WithScope([&](Scope& s) {
        for (TcpStream&& conn : listener) {
          s.Go([mine = std::move(conn)]() mutable { Echo(std::move(mine)); });
        }
      });
    });
    std::atomic<std::uint32_t> seed{1};
    WithScope([&](Scope& s) {
      for (int client = 0; client < 10; ++client) {
        s.Go([&] {
          for (int i = 0; i < Rounds(60); ++i) TalkAndLeave(here, seed++);
        });
      }
    });
    listener.Close();
    server.Join();
    EXPECT_TRUE(listener.status().ok()) << listener.status();
  });
}

// R8
TEST_P(TcpStressTest, MuchGoesThroughASmallBuffer) {
  Here([] {
    const std::size_t size = static_cast<std::size_t>(Rounds(1'000)) * 1000;
    TcpListener listener = *TcpListener::Listen("127.0.0.1:0");
    TcpStream client = *TcpStream::Dial(*listener.local_endpoint());
    TcpStream server = *listener.Accept();
    const int small = 4096;
    ASSERT_EQ(setsockopt(client.native_handle(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    Task<void> sender = Go([&] {
      std::string data(size, '\0');
      for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<char>(i * 31);
      EXPECT_TRUE(client.WriteAll(data).ok());
      client.Close();
    });
    std::string got(size, '\0');
    ASSERT_TRUE(server.ReadFull(got).ok());
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(got[i], static_cast<char>(i * 31));
    EXPECT_EQ(ReadSome(server), "");
    sender.Join();
  });
}

// One closes, one cancels, one moves deadlines, while four read and write. The number of the
// descriptor is taken again at once, by a connection on which nothing may arrive.
TEST_P(TcpStressTest, CallsAreEndedFromAllSides) {
  Here([] {
    TcpListener listener = *TcpListener::Listen("127.0.0.1:0");
    for (int i = 0; i < Rounds(60); ++i) {
      TcpStream client = *TcpStream::Dial(*listener.local_endpoint());
      TcpStream server = *listener.Accept();
      std::vector<Task<void>> users;
      for (int k = 0; k < 2; ++k) {
        users.push_back(Go([&] {
          char buffer[64];
          while (client.Read(buffer).ok()) {
          }
        }));
        users.push_back(Go([&] {
          while (client.WriteAll(std::string(1000, 'x')).ok()) {
          }
        }));
      }
      Task<void> peer = Go([&] { Echo(std::move(server)); });
      Task<void> clock = Go([&] {
        for (int k = 0; k < 20; ++k) {
          client.SetReadDeadline(k % 2 == 0 ? Now() + absl::Hours(1) : absl::InfiniteFuture());
          Yield();
        }
      });
      Task<void> canceller = Go([&] { users[static_cast<std::size_t>(i) % 4].Cancel(); });
      canceller.Join();
      for (int k = 0; k < i % 30; ++k) Yield();
      client.Close();
      TcpStream other = *TcpStream::Dial(*listener.local_endpoint());
      TcpStream other_end = *listener.Accept();
      for (Task<void>& user : users) {
        try {
          user.Join();
        } catch (const TaskCancelled&) {
        }
      }
      clock.Join();
      peer.Join();
      EXPECT_TRUE(other_end.WriteAll("only this").ok());
      EXPECT_EQ(ReadSome(other), "only this");
      other.Close();
      EXPECT_EQ(ReadSome(other_end), "");
    }
  });
}

}  // namespace
}  // namespace csp
