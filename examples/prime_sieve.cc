// The sieve of Eratosthenes as a chain of filters, one fiber for each prime: Go's classic.
//
//   numbers -> not 2 -> not 3 -> not 5 -> …
#include <iostream>

#include "csp/csp.h"

namespace {

// 2, 3, 4 … for ever.
csp::RecvChan<int> Numbers() {
  auto out = csp::MakeChan<int>();
  csp::Go([out] {
    for (int i = 2;; ++i) out.Send(i);
  });
  return out;
}

// What comes out of `in` and is no multiple of `prime`.
csp::RecvChan<int> Without(int prime, csp::RecvChan<int> in) {
  auto out = csp::MakeChan<int>();
  csp::Go([prime, in, out] {
    for (const int i : in) {
      if (i % prime != 0) out.Send(i);
    }
  });
  return out;
}

}  // namespace

// Run ends when its function returns: the filters, which never would, are cancelled and unwound.
int main() {
  return csp::Run([] {
    constexpr int kPrimes = 25;
    csp::RecvChan<int> candidates = Numbers();
    for (int i = 0; i < kPrimes; ++i) {
      const int prime = *candidates.Recv();
      std::cout << prime << (i + 1 < kPrimes ? " " : "\n");
      candidates = Without(prime, candidates);
    }
  });
}

// Output:
// 2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59 61 67 71 73 79 83 89 97
