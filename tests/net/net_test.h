// What the tests of csp/net share: a fixture, and pipes.
#ifndef TESTS_NET_NET_TEST_H_
#define TESTS_NET_NET_TEST_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "csp/net/descriptor.h"
#include "csp/sched/dump.h"
#include "csp/select/select.h"
#include "csp/task/go.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {

struct Pipe {
  Pipe() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
    in = *net::Descriptor::Adopt(fds[0]);
    out = *net::Descriptor::Adopt(fds[1]);
  }

  net::Descriptor in;   // to read from
  net::Descriptor out;  // to write to
};

// Reads once; "!" and the status if that fails.
inline std::string ReadSome(net::ByteStream& stream) {
  char buffer[256];
  const absl::StatusOr<std::size_t> count = stream.Read(buffer);
  if (!count.ok()) return "!" + std::string(count.status().message());
  return std::string(buffer, *count);
}

// Returns when as many fibers and threads as `waiters` says wait for something of csp/net or
// csp/os, or in a select.
inline void AwaitWaiters(int waiters) {
  const auto count = [](const std::string& dump, const char* room) {
    int found = 0;
    for (std::size_t at = 0; (at = dump.find(room, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_TRUE(EventuallyTrue([&] {
    const std::string dump = DumpFibers();
    return count(dump, "parked in net") + count(dump, "parked in os") +
               count(dump, "parked in select") >=
           waiters;
  })) << DumpFibers();
}

// As RuntimeTest; the default runtime, which stays, has had its reactor before anything is counted.
class NetTest : public RuntimeTest {
 protected:
  void Here(const std::function<void()>& body) {
    if (on_plain_thread()) {
      Pipe pipe;
      Task<void> waits_in_it = Go([&] { Select(pipe.in.OnReadable()); });
      AwaitWaiters(1);
      EXPECT_TRUE(pipe.out.WriteAll("x").ok());
      waits_in_it.Join();
    }
    RuntimeTest::Here(body);
  }
};

}  // namespace csp

#endif  // TESTS_NET_NET_TEST_H_
