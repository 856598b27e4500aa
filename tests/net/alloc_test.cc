// Waiting for a descriptor allocates nothing: counted, over reads, writes, deadlines and selects.
#include <cstddef>
#include <optional>

#include "csp/csp.h"
#include "tests/net/net_test.h"
#include "tests/support/allocations.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using net::Bytes;

using AllocTest = NetTest;
CSP_INSTANTIATE(AllocTest);

// A message goes there and back by `there` and `back`, again and again.
template <class Wait>
void ExpectNoAllocations(Wait wait) {
  const int rounds = Rounds(2'000);
  StartEveryWorker();
  Pipe there;
  Pipe back;
  Task<void> partner = Go([&] {
    char buffer[8];
    for (int i = 0; i < 2 * rounds; ++i) {
      wait(there.in, buffer);
      ASSERT_TRUE(back.out.WriteAll(Bytes(buffer, 8)).ok());
    }
  });
  char buffer[8] = {};
  long before = 0;
  for (int i = 0; i < 2 * rounds; ++i) {
    if (i == rounds) before = Allocations();
    ASSERT_TRUE(there.out.WriteAll(Bytes(buffer, 8)).ok());
    wait(back.in, buffer);
  }
  EXPECT_LE(Allocations() - before, kAllocatedOnce) << "in " << rounds << " rounds";
  partner.Join();
}

TEST_P(AllocTest, Reading) {
  Here([] {
    ExpectNoAllocations(
        [](net::Descriptor& in, char(&buffer)[8]) { ASSERT_EQ(in.Read(buffer).value(), 8u); });
  });
}

TEST_P(AllocTest, ReadingWithADeadlineThatMoves) {
  Here([] {
    ExpectNoAllocations([](net::Descriptor& in, char(&buffer)[8]) {
      in.SetReadDeadline(Now() + absl::Hours(1));
      ASSERT_TRUE(in.ReadFull(buffer).ok());
    });
  });
}

TEST_P(AllocTest, Selecting) {
  Here([] {
    Chan<int> never = MakeChan<int>();
    ExpectNoAllocations([&](net::Descriptor& in, char(&buffer)[8]) {
      Select(
          in.OnReadable() >> [] {}, never.OnRecv() >> [](std::optional<int>) {},
          OnTimeout(absl::Hours(1)) >> [] {});
      Select(
          in.OnRead(buffer) >> [](absl::StatusOr<std::size_t> n) { ASSERT_EQ(*n, 8u); },
          never.OnRecv() >> [](std::optional<int>) {});
    });
  });
}

}  // namespace
}  // namespace csp
