// The sanitizers find bugs on fibers, and nothing where there is none.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

std::string program;

struct Outcome {
  int status;
  std::string output;
};

Outcome RunPlanted(const std::string& bug) {
  FILE* pipe = popen((program + " " + bug + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), size);
  }
  return {pclose(pipe), output};
}

void ExpectFound(const std::string& bug, const std::string& report) {
  const Outcome outcome = RunPlanted(bug);
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.output.find(report), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("planted.cc"), std::string::npos) << outcome.output;
}

void ExpectNothing(const std::string& bug) {
  const Outcome outcome = RunPlanted(bug);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "");
}

TEST(PlantedTest, NothingWhereNothingIsWrong) {
  ExpectNothing("none");
  ExpectNothing("no_leak");
}

TEST(PlantedTest, RacesAreFound) {
  if (!kTsan) GTEST_SKIP() << "ThreadSanitizer's matter";
  ExpectFound("race", "WARNING: ThreadSanitizer: data race");
  ExpectFound("race_with_a_thread", "WARNING: ThreadSanitizer: data race");
}

TEST(PlantedTest, BadMemoryIsFound) {
  if (!kAsan) GTEST_SKIP() << "AddressSanitizer's matter";
  ExpectFound("use_after_free", "AddressSanitizer: heap-use-after-free");
  ExpectFound("stack_overrun", "AddressSanitizer: stack-buffer-overflow");
}

TEST(PlantedTest, LeaksAreFound) {
  if (!kAsan) GTEST_SKIP() << "LeakSanitizer's matter";
  ExpectFound("leak", "LeakSanitizer: detected memory leaks");
}

}  // namespace
}  // namespace csp

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  csp::program = argv[1];
  return RUN_ALL_TESTS();
}
