// Do long pipelines of short-lived values work: the prime sieve, one fiber a prime?

#include <cstdint>
#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using SieveTest = RuntimeTest;
CSP_INSTANTIATE(SieveTest);

void Generate(SendChan<int> out, Event& enough) {
  for (int i = 2, go_on = 1; go_on != 0; ++i) {
    Select(
        out.OnSend(i), enough.OnWait() >> [&] { go_on = 0; });
  }
  out.Close();
}

void Filter(RecvChan<int> in, SendChan<int> out, int prime, Event& enough) {
  for (int v : in) {
    if (v % prime != 0) Select(out.OnSend(v), enough.OnWait());
  }
  out.Close();
}

int NthPrime(int n, std::size_t capacity) {
  Event enough;
  auto ch = MakeChan<int>(capacity);
  Go([out = SendChan<int>(ch), &enough] { Generate(out, enough); });
  int prime = 0;
  for (int i = 0; i < n; ++i) {
    prime = *ch.Recv();
    auto next = MakeChan<int>(capacity);
    Go([=, &enough] { Filter(ch, next, prime, enough); });
    ch = next;
  }
  enough.Set();
  for ([[maybe_unused]] int v : ch) {
  }
  return prime;
}

TEST_P(SieveTest, FindsThePrimes) {
  Here([] {
    for (std::size_t capacity : {0, 1, 10}) {
      EXPECT_EQ(NthPrime(25, capacity), 97);
      EXPECT_EQ(NthPrime(kTsan ? 50 : 200, capacity), kTsan ? 229 : 1223);
    }
  });
}

}  // namespace
}  // namespace csp
