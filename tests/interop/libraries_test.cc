// I4: other people's code on a fiber of the default size.
#include <netdb.h>

#include <cstdio>
#include <iostream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

#include "csp/chan/chan.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using LibrariesTest = RuntimeTest;
CSP_INSTANTIATE(LibrariesTest);

TEST_P(LibrariesTest, LongDoubles) {
  Here([] {
    const auto print = [] {
      char text[64];
      std::snprintf(text, sizeof text, "%.20Lf %Lg", 1.5L, 1e4000L);
      return std::string(text);
    };
    EXPECT_EQ(Go(print).Join(), "1.50000000000000000000 1e+4000");
  });
}

TEST_P(LibrariesTest, Streams) {
  Here([] {
    const auto print = [] {
      std::ostringstream out;
      out << 1.25 << ' ' << std::hex << 255;
      std::cout << out.str() << std::endl;
      return out.str();
    };
    EXPECT_EQ(Go(print).Join(), "1.25 ff");
  });
}

[[gnu::noinline]] int ThrowAt(int depth) {
  struct Counts {
    int& n;
    ~Counts() { ++n; }
  };
  thread_local int unwound = 0;
  const Counts counts{unwound};
  if (depth == 0) throw std::runtime_error("deep");
  const int result = ThrowAt(depth - 1) + 1;
  asm volatile("" ::: "memory");
  return result;
}

TEST_P(LibrariesTest, AThrowThroughFiftyFrames) {
  Here([] { EXPECT_THROW(Go([] { return ThrowAt(50); }).Join(), std::runtime_error); });
}

bool MatchLetters(int count) {
  return std::regex_match(std::string(count, 'a') + "b", std::regex("[a-z]+b"));
}

// libstdc++ matches by recursion, some 330 bytes of stack a character, and three times that under a
// sanitizer. The figures are those of docs/stacks.md.
TEST_P(LibrariesTest, Regex) {
  Here([] {
    EXPECT_TRUE(Go(MatchLetters, kAsan || kTsan ? 30 : 150).Join());
    EXPECT_TRUE(
        Go({.stack_size = kAsan || kTsan ? 4 << 20 : 512 << 10}, MatchLetters, 1023).Join());
  });
}

TEST_P(LibrariesTest, NameLookup) {
  Here([] {
    const auto look_up = [] {
      addrinfo* found = nullptr;
      const int error = getaddrinfo("localhost", "80", nullptr, &found);
      if (error == 0) freeaddrinfo(found);
      return error;
    };
    EXPECT_EQ(Go(look_up).Join(), 0);
  });
}

}  // namespace
}  // namespace csp
