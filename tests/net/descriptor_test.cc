#include "csp/net/descriptor.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "csp/csp.h"
#include "csp/net/io_status.h"
#include "tests/net/net_test.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using net::Bytes;
using net::Descriptor;
using net::MutableBytes;

using DescriptorTest = NetTest;
CSP_INSTANTIATE(DescriptorTest);

// Fills it until a write would block.
void Fill(Descriptor& out) {
  static const std::string block(4096, 'x');
  while (Select(
      out.OnWrite(block) >> [](absl::StatusOr<std::size_t>) { return true; },
      Default >> [] { return false; })) {
  }
}

// --- Reading and writing

TEST_P(DescriptorTest, AReaderWaitsForTheWriter) {
  Here([] {
    Pipe pipe;
    Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
    AwaitWaiters(1);
    EXPECT_EQ(*pipe.out.Write("hello"), 5u);
    EXPECT_EQ(reader.Join(), "hello");
  });
}

TEST_P(DescriptorTest, MoreThanFitsGoesThroughAndEnds) {
  Here([] {
    constexpr std::size_t kSize = 1 << 20;
    Pipe pipe;
    Task<void> writer = Go([&] {
      std::string data(kSize, '\0');
      for (std::size_t i = 0; i < kSize; ++i) data[i] = static_cast<char>(i * 7);
      EXPECT_TRUE(pipe.out.WriteAll(data).ok());
      pipe.out.Close();
    });
    std::string data;
    for (;;) {
      char buffer[5000];
      const auto count = pipe.in.Read(buffer);
      ASSERT_TRUE(count.ok()) << count.status();
      if (*count == 0) break;
      data.append(buffer, *count);
    }
    ASSERT_EQ(data.size(), kSize);
    for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(data[i], static_cast<char>(i * 7));
    writer.Join();
  });
}

TEST_P(DescriptorTest, VectoredFormsGoOnWhereTheyStopped) {
  Here([] {
    Pipe pipe;
    const std::string big(200'000, 'b');
    Task<void> writer = Go([&] {
      const std::vector<Bytes> parts = {"one ", "", big, " end"};
      std::size_t count = 0;
      EXPECT_TRUE(pipe.out.WriteAll(parts, &count).ok());
      EXPECT_EQ(count, big.size() + 8);
    });
    std::string all(big.size() + 8, '\0');
    std::array<char, 4> head;
    const std::vector<MutableBytes> parts = {head, MutableBytes(all.data(), 0)};
    EXPECT_EQ(*pipe.in.Read(parts), 4u);
    EXPECT_EQ(std::string(head.data(), 4), "one ");
    EXPECT_TRUE(pipe.in.ReadFull(MutableBytes(all.data(), big.size() + 4)).ok());
    EXPECT_EQ(all.substr(0, big.size() + 4), big + " end");
    writer.Join();
  });
}

TEST_P(DescriptorTest, NothingToMoveIsDoneAtOnce) {
  Here([] {
    Pipe pipe;
    EXPECT_EQ(*pipe.in.Read(MutableBytes()), 0u);
    EXPECT_EQ(*pipe.out.Write(""), 0u);
    EXPECT_TRUE(pipe.in.ReadFull(MutableBytes()).ok());
    EXPECT_TRUE(pipe.out.WriteAll("").ok());
    EXPECT_TRUE(pipe.out.WriteAll(std::vector<Bytes>()).ok());
  });
}

TEST_P(DescriptorTest, ReadFullSaysHowFarItCame) {
  Here([] {
    Pipe pipe;
    EXPECT_EQ(*pipe.out.Write("abc"), 3u);
    pipe.out.Close();
    char buffer[8];
    std::size_t count = 0;
    const absl::Status status = pipe.in.ReadFull(buffer, &count);
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(status.message(), "Descriptor::ReadFull: the stream ended after 3 of 8 bytes");
    EXPECT_EQ(count, 3u);
  });
}

TEST_P(DescriptorTest, AnEventfdIsAStreamOfNumbers) {
  Here([] {
    Descriptor counter = *Descriptor::Adopt(eventfd(0, EFD_CLOEXEC));
    Task<std::uint64_t> reader = Go([&] {
      std::array<std::byte, 8> bytes;
      EXPECT_EQ(*counter.Read(bytes), 8u);
      return std::bit_cast<std::uint64_t>(bytes);
    });
    AwaitWaiters(1);
    EXPECT_TRUE(counter.Write(std::bit_cast<std::array<std::byte, 8>>(std::uint64_t{42})).ok());
    EXPECT_EQ(reader.Join(), 42u);
  });
}

// --- Errors

TEST_P(DescriptorTest, APipeWithoutReadersIsAnErrorAndNoSignal) {
  Here([] {
    Pipe pipe;
    pipe.in.Close();
    const auto count = pipe.out.Write("x");
    EXPECT_EQ(net::ErrnoOf(count.status()), EPIPE);
    const std::vector<Bytes> parts = {"x"};
    EXPECT_EQ(net::ErrnoOf(pipe.out.WriteAll(parts)), EPIPE);
  });
}

TEST_P(DescriptorTest, WhatIsNeverWaitedForIsRefused) {
  Here([] {
    for (const char* name : {"/proc/self/exe", "/"}) {
      const int fd = open(name, O_RDONLY | O_CLOEXEC);
      const auto refused = Descriptor::Adopt(fd);
      EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(close(fd), 0);  // still ours
    }
    EXPECT_EQ(net::ErrnoOf(Descriptor::Adopt(-1).status()), EBADF);
    Descriptor null = *Descriptor::Adopt(open("/dev/null", O_RDWR | O_CLOEXEC));
    EXPECT_EQ(ReadSome(null), "");
    EXPECT_TRUE(null.WriteAll("x").ok());
    Select(null.OnReadable());
  });
}

// Asio knows a number once. (The test gives one of the two back, or it would be closed twice.)
TEST_P(DescriptorTest, TwoObjectsForOneDescriptorAreAnError) {
  Here([] {
    Pipe pipe;
    Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
    AwaitWaiters(1);
    Descriptor same = *Descriptor::Adopt(pipe.in.native_handle());
    EXPECT_EQ(ReadSome(same), "!Descriptor::Read: File exists");
    EXPECT_TRUE(same.Release().ok());
    EXPECT_TRUE(pipe.out.WriteAll("x").ok());
    EXPECT_EQ(reader.Join(), "x");
  });
}

TEST_P(DescriptorTest, OfAnEmptyOneEveryCallThrows) {
  Here([] {
    Descriptor none;
    char buffer[1];
    EXPECT_THROW((void)none.Read(buffer), InvalidArgument);
    EXPECT_THROW((void)none.WriteAll("x"), InvalidArgument);
    EXPECT_THROW((void)none.OnReadable(), InvalidArgument);
    EXPECT_THROW((void)none.Release(), InvalidArgument);
    EXPECT_FALSE(none.is_open());
    EXPECT_EQ(none.native_handle(), -1);
    none.Close();
  });
}

// --- Closing

// K4: whoever waits is told, whoever closes.
TEST_P(DescriptorTest, CloseEndsEveryCall) {
  Here([] {
    for (const bool by_thread : {false, true}) {
      int fds[2];
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
      Descriptor mine = *Descriptor::Adopt(fds[0]);
      Descriptor peer = *Descriptor::Adopt(fds[1]);
      Fill(mine);
      Task<std::string> reader = Go([&] { return ReadSome(mine); });
      Task<absl::Status> writer = Go([&] { return mine.WriteAll("x"); });
      Task<void> watcher = Go([&] { Select(mine.OnReadable()); });
      Task<bool> selector = Go([&] {
        char buffer[8];
        return Select(mine.OnRead(buffer) >> [](absl::StatusOr<std::size_t> count) {
          return net::IsClosed(count.status());
        });
      });
      AwaitWaiters(4);
      if (by_thread) {
        std::thread([&] { mine.Close(); }).join();
      } else {
        mine.Close();
      }
      EXPECT_EQ(reader.Join(), "!Descriptor::Read: closed");
      EXPECT_TRUE(net::IsClosed(writer.Join()));
      watcher.Join();
      EXPECT_TRUE(selector.Join());
      mine.Close();
      EXPECT_FALSE(mine.is_open());
      EXPECT_EQ(ReadSome(mine), "!Descriptor::Read: closed");
    }
  });
}

// K3: what else refers to the same pipe means nothing to an object that is closed.
TEST_P(DescriptorTest, ACopyOfTheDescriptorKeepsNothingAlive) {
  Here([] {
    Pipe pipe;
    Task<void> registers_it = Go([&] { Select(pipe.in.OnReadable()); });
    AwaitWaiters(1);
    const int copy = dup(pipe.in.native_handle());
    pipe.in.Close();
    registers_it.Join();
    EXPECT_TRUE(pipe.out.WriteAll("x").ok());
    Descriptor again = *Descriptor::Adopt(copy);
    EXPECT_EQ(ReadSome(again), "x");
  });
}

// The system gives the lowest free number: the next pipe has that of the one just closed.
TEST_P(DescriptorTest, ANumberThatIsUsedAgainMeansTheNewOne) {
  Here([] {
    for (int i = 0; i < Rounds(200); ++i) {
      Pipe old;
      Task<std::string> reader = Go([&] { return ReadSome(old.in); });
      if (i % 2 == 0) AwaitWaiters(1);
      old.in.Close();
      Pipe young;
      Task<std::string> other = Go([&] { return ReadSome(young.in); });
      EXPECT_TRUE(young.out.WriteAll("new").ok());
      EXPECT_EQ(other.Join(), "new");
      EXPECT_EQ(reader.Join(), "!Descriptor::Read: closed");
    }
  });
}

TEST_P(DescriptorTest, ReleaseGivesTheDescriptorBackAsItWas) {
  Here([] {
    int fds[2];
    ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
    Descriptor in = *Descriptor::Adopt(fds[0]);
    Descriptor out = *Descriptor::Adopt(fds[1]);
    EXPECT_NE(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0);
    Task<std::string> reader = Go([&] { return ReadSome(in); });
    AwaitWaiters(1);
    EXPECT_EQ(in.Release().status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(out.WriteAll("x").ok());
    EXPECT_EQ(reader.Join(), "x");
    const auto fd = in.Release();
    ASSERT_TRUE(fd.ok()) << fd.status();
    EXPECT_EQ(*fd, fds[0]);
    EXPECT_EQ(fcntl(*fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_FALSE(in.is_open());
    EXPECT_EQ(in.Release().status().message(), "Release: closed");
    Descriptor again = *Descriptor::Adopt(*fd);
    out.Close();
    EXPECT_EQ(ReadSome(again), "");
  });
}

TEST_P(DescriptorTest, MovingOneCarriesItOverAndClosesTheOther) {
  Here([] {
    Pipe a;
    Pipe b;
    const int number = b.in.native_handle();
    a.in = std::move(b.in);
    EXPECT_EQ(a.in.native_handle(), number);
    EXPECT_EQ(net::ErrnoOf(a.out.WriteAll("x")), EPIPE);
    EXPECT_TRUE(b.out.WriteAll("y").ok());
    EXPECT_EQ(ReadSome(a.in), "y");
  });
}

// --- Deadlines and cancellation

TEST_P(DescriptorTest, ADeadlineEndsACallAndTheNext) {
  Here([] {
    Pipe pipe;
    pipe.in.SetReadDeadline(Now() + absl::Milliseconds(5));
    EXPECT_EQ(ReadSome(pipe.in), "!Descriptor::Read: the deadline has passed");
    EXPECT_TRUE(pipe.out.WriteAll("x").ok());
    EXPECT_EQ(ReadSome(pipe.in), "!Descriptor::Read: the deadline has passed");
    pipe.in.SetDeadline(absl::InfiniteFuture());
    EXPECT_EQ(ReadSome(pipe.in), "x");
  });
}

TEST_P(DescriptorTest, ADeadlineOfWriting) {
  Here([] {
    Pipe pipe;
    Fill(pipe.out);
    pipe.out.SetWriteDeadline(Now() + absl::Milliseconds(5));
    EXPECT_EQ(pipe.out.WriteAll("x").code(), absl::StatusCode::kDeadlineExceeded);
    char buffer[1];
    EXPECT_EQ(*pipe.in.Read(buffer), 1u);  // of the other end it says nothing
  });
}

// K13
TEST_P(DescriptorTest, TheDeadlineMayMoveWhileACallWaits) {
  Here([] {
    Pipe pipe;
    Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
    AwaitWaiters(1);
    for (int i = 0; i < Rounds(20'000); ++i) {
      pipe.in.SetReadDeadline(i % 3 == 0 ? absl::InfiniteFuture()
                                         : Now() + absl::Hours(i % 2 == 0 ? 1 : 1000));
      if (i % 64 == 0) Yield();
    }
    EXPECT_FALSE(reader.done());
    pipe.in.SetReadDeadline(absl::InfinitePast());
    EXPECT_EQ(reader.Join(), "!Descriptor::Read: the deadline has passed");
  });
}

TEST_P(DescriptorTest, ACancelledCallHasDoneNothing) {
  Here([] {
    Pipe pipe;
    for (int i = 0; i < Rounds(500); ++i) {
      Task<std::string> reader = Go([&] { return ReadSome(pipe.in); });
      if (i % 2 == 0) AwaitWaiters(1);
      Task<void> writer = Go([&] { EXPECT_TRUE(pipe.out.WriteAll("x").ok()); });
      reader.Cancel();
      std::string got;
      try {
        got = reader.Join();
      } catch (const TaskCancelled&) {
        got = ReadSome(pipe.in);
      }
      ASSERT_EQ(got, "x");
      writer.Join();
    }
  });
}

// F6
TEST_P(DescriptorTest, ReadFullThatIsCancelledSaysHowFarItCame) {
  Here([] {
    Pipe pipe;
    char buffer[100];
    std::size_t count = 0;
    Task<void> reader = Go([&] { (void)pipe.in.ReadFull(buffer, &count); });
    EXPECT_TRUE(pipe.out.WriteAll(std::string(40, 'a')).ok());
    EXPECT_TRUE(EventuallyTrue([&] {
      int left = 0;
      return ioctl(pipe.in.native_handle(), FIONREAD, &left) == 0 && left == 0;
    }));
    AwaitWaiters(1);
    reader.Cancel();
    EXPECT_THROW(reader.Join(), TaskCancelled);
    EXPECT_EQ(count, 40u);
    EXPECT_EQ(std::string(buffer, 40), std::string(40, 'a'));
    EXPECT_TRUE(pipe.out.WriteAll("b").ok());
    EXPECT_EQ(ReadSome(pipe.in), "b");
  });
}

// K14: nobody waits for what another has taken, and none that comes is missed.
TEST_P(DescriptorTest, SeveralReadersShareWhatComes) {
  Here([] {
    constexpr int kReaders = 4;
    const int bytes = Rounds(4'000);
    Pipe pipe;
    std::atomic<int> got{0};
    std::vector<Task<void>> readers;
    for (int r = 0; r < kReaders; ++r) {
      readers.push_back(Go([&] {
        for (;;) {
          char buffer[3];
          const auto count = pipe.in.Read(buffer);
          ASSERT_TRUE(count.ok());
          if (*count == 0) return;
          got += static_cast<int>(*count);
        }
      }));
    }
    for (int i = 0; i < bytes; ++i) {
      ASSERT_TRUE(pipe.out.WriteAll("x").ok());
      if (i % 50 == 0) {  // one leaves in the middle of it
        Task<void> passing = Go([&] {
          char buffer[1];
          const auto count = pipe.in.Read(buffer);
          got += static_cast<int>(*count);
        });
        passing.Cancel();
        try {
          passing.Join();
        } catch (const TaskCancelled&) {
        }
      }
    }
    EXPECT_TRUE(EventuallyTrue([&] { return got == bytes; })) << got;
    pipe.out.Close();
    for (Task<void>& reader : readers) reader.Join();
  });
}

// --- Select

TEST_P(DescriptorTest, ALosingReadMovesNoByte) {
  Here([] {
    Pipe pipe;
    Chan<int> ch = MakeChan<int>(1);
    std::string got;
    int from_chan = 0;
    const int rounds = Rounds(2'000);
    Task<void> writer = Go([&] {
      for (int i = 0; i < rounds; ++i) {
        ASSERT_TRUE(pipe.out.WriteAll(std::string(1, static_cast<char>('a' + i % 26))).ok());
        ch.Send(1);
      }
    });
    while (static_cast<int>(got.size()) < rounds || from_chan < rounds) {
      char buffer[2];
      Select(
          pipe.in.OnRead(buffer) >>
              [&](absl::StatusOr<std::size_t> count) { got.append(buffer, *count); },
          ch.OnRecv() >> [&](std::optional<int>) { ++from_chan; });
    }
    for (int i = 0; i < rounds; ++i) ASSERT_EQ(got[i], 'a' + i % 26);
    writer.Join();
  });
}

TEST_P(DescriptorTest, DefaultIsTakenWhereNothingCanBeRead) {
  Here([] {
    Pipe pipe;
    char buffer[8];
    const auto try_read = [&] {
      return Select(
          pipe.in.OnRead(buffer) >> [](absl::StatusOr<std::size_t> n) { return int(*n); },
          Default >> [] { return -1; });
    };
    EXPECT_EQ(try_read(), -1);
    EXPECT_TRUE(pipe.out.WriteAll("xyz").ok());
    EXPECT_EQ(try_read(), 3);
    EXPECT_EQ(try_read(), -1);
  });
}

TEST_P(DescriptorTest, AnEventOfReadingKnowsTheDeadline) {
  Here([] {
    Pipe pipe;
    pipe.in.SetReadDeadline(Now() + absl::Milliseconds(5));
    char buffer[8];
    EXPECT_EQ(Select(pipe.in.OnRead(buffer) >>
                     [](absl::StatusOr<std::size_t> count) { return count.status().code(); }),
              absl::StatusCode::kDeadlineExceeded);
  });
}

TEST_P(DescriptorTest, ReadinessIsSharedAndTakesNothing) {
  Here([] {
    Pipe pipe;
    std::vector<Task<void>> watchers;
    for (int i = 0; i < 3; ++i) watchers.push_back(Go([&] { Select(pipe.in.OnReadable()); }));
    EXPECT_TRUE(pipe.out.WriteAll("x").ok());
    for (Task<void>& watcher : watchers) watcher.Join();
    EXPECT_EQ(ReadSome(pipe.in), "x");
    Fill(pipe.out);
    Task<void> writable = Go([&] { Select(pipe.out.OnWritable()); });
    AwaitWaiters(1);
    std::string rest(1 << 16, '\0');
    EXPECT_TRUE(pipe.in.Read(rest).ok());
    writable.Join();
  });
}

}  // namespace
}  // namespace csp
