// The system misbehaves at any one call: what comes of it is the error's status, or nothing at all.
#include <errno.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "csp/csp.h"
#include "csp/net/internal/system.h"
#include "csp/net/io_status.h"
#include "csp/net/tcp_listener.h"
#include "csp/net/tcp_stream.h"
#include "tests/net/net_test.h"

namespace csp {
namespace {

using net::TcpListener;
using net::TcpStream;

// A system that does what it should, except that calls from `first` to `last`, in the order in which
// they come, return an error or move a single byte.
class Faulty final : public internal::System {
 public:
  static constexpr int kShort = 0;  // in place of an error

  // What can happen to a call: only reading and writing would block, or be short.
  enum class Call { kMove, kAccept, kOther };

  Faulty(int error, int first, int last) : error_(error), first_(first), last_(last) {}

  int calls() const { return calls_; }

  ssize_t Recv(int fd, void* data, std::size_t size, int flags) override {
    if (Strikes(Call::kMove)) {
      if (error_ != kShort) return -error_;
      size = std::min<std::size_t>(size, 1);
    }
    return System::Recv(fd, data, size, flags);
  }
  ssize_t Send(int fd, const void* data, std::size_t size, int flags) override {
    if (Strikes(Call::kMove)) {
      if (error_ != kShort) return -error_;
      size = std::min<std::size_t>(size, 1);
    }
    return System::Send(fd, data, size, flags);
  }
  int Accept(int fd, sockaddr* address, socklen_t* size) override {
    return Strikes(Call::kAccept) ? -error_ : System::Accept(fd, address, size);
  }
  int Socket(int domain, int type, int protocol) override {
    return Strikes(Call::kOther) ? -error_ : System::Socket(domain, type, protocol);
  }
  int Connect(int fd, const sockaddr* address, socklen_t size) override {
    return Strikes(Call::kOther) ? -error_ : System::Connect(fd, address, size);
  }
  int Bind(int fd, const sockaddr* address, socklen_t size) override {
    return Strikes(Call::kOther) ? -error_ : System::Bind(fd, address, size);
  }
  int Listen(int fd, int backlog) override {
    return Strikes(Call::kOther) ? -error_ : System::Listen(fd, backlog);
  }
  int Shutdown(int fd, int how) override {
    return Strikes(Call::kOther) ? -error_ : System::Shutdown(fd, how);
  }
  int SetOption(int fd, int level, int name, const void* value, socklen_t size) override {
    return Strikes(Call::kOther) ? -error_ : System::SetOption(fd, level, name, value, size);
  }
  int Poll(int fd, std::int16_t events) override {
    return Strikes(Call::kOther) ? -error_ : System::Poll(fd, events);
  }

 private:
  bool Strikes(Call call) {
    const int number = calls_++;
    if (number < first_ || number > last_) return false;
    switch (error_) {
      case kShort:
        return call == Call::kMove;
      case EAGAIN:
        return call != Call::kOther;
      default:
        return true;
    }
  }

  const int error_;
  const int first_;
  const int last_;
  std::atomic<int> calls_{0};
};

// One connection, on which 300 bytes go there and back. The first error, on either side.
absl::Status Converse() {
  absl::StatusOr<TcpListener> listener = TcpListener::Listen("127.0.0.1:0");
  if (!listener.ok()) return listener.status();
  const net::Endpoint here = *listener->local_endpoint();
  Task<absl::Status> server = Go([&]() -> absl::Status {
    absl::StatusOr<TcpStream> conn = listener->Accept();
    listener->Close();  // if nobody has been let in, the client must hear of it
    if (!conn.ok()) return conn.status();
    for (char buffer[100];;) {
      const absl::StatusOr<std::size_t> count = conn->Read(buffer);
      if (!count.ok()) return count.status();
      if (*count == 0) return absl::OkStatus();
      absl::Status status = conn->WriteAll(net::Bytes(buffer, *count));
      if (!status.ok()) return status;
    }
  });
  const absl::Status client = [&]() -> absl::Status {
    absl::StatusOr<TcpStream> conn = TcpStream::Dial(here);
    if (!conn.ok()) return conn.status();
    const std::string sent(300, 's');
    absl::Status status = conn->WriteAll(sent);
    std::string got(300, '\0');
    if (status.ok()) status = conn->ReadFull(got);
    if (status.ok()) {
      EXPECT_EQ(got, sent);
      status = conn->CloseWrite();
    }
    return status;
  }();
  if (!client.ok()) listener->Close();  // perhaps nobody has come
  const absl::Status other = server.Join();
  return client.ok() ? other : client;
}

// How many there are if none goes wrong.
int CountCalls() {
  Faulty system(0, INT_MAX, INT_MAX);
  const internal::ScopedSystem use(&system);
  EXPECT_TRUE(Converse().ok());
  return system.calls();
}

class FaultsTest : public NetTest {
 protected:
  // With `error` at each call in turn, `length` times in a row.
  void AtEachCall(int error, int length, const std::function<void(const absl::Status&)>& check) {
    Here([&] {
      const int calls = CountCalls();
      EXPECT_GT(calls, 12);
      for (int first = 0; first < calls; ++first) {
        Faulty system(error, first, first + length - 1);
        const internal::ScopedSystem use(&system);
        check(Converse());
      }
    });
  }
};
CSP_INSTANTIATE(FaultsTest);

void ExpectOk(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

// R10
TEST_P(FaultsTest, ASignalIsNoticedByNobody) {
  AtEachCall(EINTR, 1, ExpectOk);
  AtEachCall(EINTR, 20, ExpectOk);
}

TEST_P(FaultsTest, ACallThatWouldBlockAfterAllIsMadeAgain) {
  AtEachCall(EAGAIN, 1, ExpectOk);
  AtEachCall(EAGAIN, 50, ExpectOk);
}

TEST_P(FaultsTest, ShortReadsAndWritesLoseNothing) {
  AtEachCall(Faulty::kShort, 1, ExpectOk);
  AtEachCall(Faulty::kShort, 40, ExpectOk);
}

// An option that cannot be set on a new connection (TCP_NODELAY) is no reason to refuse it; whoever
// reads the end of the stream need not hear why the other has failed.
TEST_P(FaultsTest, AnErrorComesWithItsNumber) {
  for (const int error : {ECONNRESET, EPIPE, EMFILE, ENOBUFS}) {
    int failed = 0;
    AtEachCall(error, 1, [&](const absl::Status& status) {
      if (status.ok()) return;
      ++failed;
      // What went wrong, or what the other side makes of it.
      const std::set<int> expected = {error, ECONNRESET, EPIPE, ECONNREFUSED};
      EXPECT_TRUE(expected.count(net::ErrnoOf(status)) == 1 ||
                  status.code() == absl::StatusCode::kOutOfRange)
          << status;
    });
    EXPECT_GT(failed, 5);
  }
}

TEST_P(FaultsTest, ALostConnectionIsPassedOver) {
  Here([] {
    Faulty system(ECONNABORTED, 0, 0);
    TcpListener listener = *TcpListener::Listen("127.0.0.1:0");
    const TcpStream client = *TcpStream::Dial(*listener.local_endpoint());
    const internal::ScopedSystem use(&system);
    EXPECT_TRUE(listener.Accept().ok());
    EXPECT_GE(system.calls(), 2);
  });
}

// EMFILE: the loop waits, and takes the connection when it can.
TEST_P(FaultsTest, AnAcceptorWithoutDescriptorsRecovers) {
  Here([] {
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
      TcpListener listener = *TcpListener::Listen("127.0.0.1:0");
      const TcpStream client = *TcpStream::Dial(*listener.local_endpoint());
      Faulty system(error, 0, 2);
      const internal::ScopedSystem use(&system);
      EXPECT_EQ(net::ErrnoOf(listener.Accept().status()), error);
      int accepted = 0;
      for (TcpStream&& conn : listener) {
        (void)conn;
        ++accepted;
        listener.Close();
      }
      EXPECT_EQ(accepted, 1);
      EXPECT_TRUE(listener.status().ok());
    }
  });
}

TEST_P(FaultsTest, AnErrorThatDoesNotPassEndsTheLoop) {
  Here([] {
    TcpListener listener = *TcpListener::Listen("127.0.0.1:0");
    Faulty system(EINVAL, 0, 0);
    const internal::ScopedSystem use(&system);
    for (TcpStream&& conn : listener) FAIL() << conn.native_handle();
    EXPECT_EQ(net::ErrnoOf(listener.status()), EINVAL);
    EXPECT_TRUE(listener.is_open());
  });
}

}  // namespace
}  // namespace csp
