// What the C++ programs of the suite share: the command line, the clock, the
// checks and the line of JSON. A program supplies a `Peer` and gives `Main` the
// rest:
//
//   constexpr bench::Implementation kJobs[] = {{"spawn", Spawn}, ...};
//
//   int main(int argc, char** argv) {
//     return bench::Main(argc, argv, {"csp", kJobs, RunOnCsp});
//   }
//
// Standard library only: the program for a peer is built without this project's
// dependencies.

#ifndef CSP_BENCH_HARNESS_HARNESS_H_
#define CSP_BENCH_HARNESS_HARNESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// A further field of the JSON line.
struct Field {
  const char* name;
  double value = 0;
};

// What a job hands back. A job keeps its own time, so that what it prepares and
// what it verifies stays outside.
struct Result {
  std::chrono::nanoseconds elapsed{};
  std::vector<Field> extra = {};
};

// One job as a program implements it. Without `run` the program cannot do the
// job, and `reason` says why: it then prints {"na": reason} and exits 3.
struct Implementation {
  std::string_view job;
  Result (*run)(int64_t n) = nullptr;
  const char* reason = "not implemented";
};

// A program of the suite.
struct Peer {
  const char* name;
  std::span<const Implementation> jobs;

  // Runs the function as a task on a runtime of that many workers. Need not
  // return: the function ends the process.
  void (*run)(int workers, const std::function<void()>& task);
};

// Parses `JOB [N] [P]`, runs the job and prints its line. Returns 0 after
// --help and 2 after misuse, and otherwise ends the process inside the job's
// task: with 0, with 1 if the job came out wrong, or with 3 if the program
// cannot do it. The runtime is not shut down, because a job may leave tasks
// behind, as a Go program does.
int Main(int argc, char** argv, const Peer& peer);

// The time since its construction.
class Stopwatch {
 public:
  std::chrono::nanoseconds Elapsed() const { return Clock::now() - start_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// Ends the process with status 1 if the two differ.
void ExpectEqual(std::string_view what, int64_t got, int64_t want);

// A memory field of /proc/self/status, in bytes.
double ProcessStatus(std::string_view field);

}  // namespace bench

#endif  // CSP_BENCH_HARNESS_HARNESS_H_
