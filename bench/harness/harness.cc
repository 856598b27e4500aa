#include "bench/harness/harness.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <system_error>

namespace bench {
namespace {

enum ExitStatus { kOk = 0, kWrong = 1, kMisuse = 2, kNotAvailable = 3 };

// One row of the suite, the same for every program.
struct Job {
  const char* name;
  int64_t n;                  // The default size.
  bool whole = false;         // The op is the whole job, not one of n.
  bool power_of_ten = false;  // n is a number of leaves of a 10-ary tree.
};

constexpr Job kSuite[] = {
    {.name = "spawn", .n = 1'000'000},
    {.name = "spawnjoin", .n = 1'000'000},
    {.name = "spawnblock", .n = 100'000},
    {.name = "yield", .n = 4'000'000},
    {.name = "pingpong", .n = 1'000'000},
    {.name = "buffered", .n = 10'000'000},
    {.name = "mpmc", .n = 4'000'000},
    {.name = "unbuf_mpmc", .n = 2'000'000},
    {.name = "select4", .n = 2'000'000},
    {.name = "selectbuf", .n = 4'000'000},
    {.name = "seltimeout", .n = 1'000'000},
    {.name = "ring", .n = 3'000'000},
    {.name = "sieve", .n = 1500, .whole = true},
    {.name = "skynet", .n = 1'000'000, .whole = true, .power_of_ten = true},
    {.name = "mutex", .n = 8'000'000},
    {.name = "scope", .n = 1'000'000},
    {.name = "canceltree", .n = 200'000},
    {.name = "cancelscope", .n = 200'000},
    {.name = "parked", .n = 1'000'000},
    {.name = "sleepers", .n = 200'000},
    {.name = "wakelatency", .n = 1000},
    {.name = "cpu", .n = 10'000'000, .whole = true},
};

struct CommandLine {
  const Job* job = nullptr;
  int64_t n = 0;
  int workers = 2;
};

void PrintHelp() {
  std::printf(
      "usage: bench JOB [N] [P]\n\n"
      "Runs JOB at size N on P worker threads (default 2) and prints one line "
      "of JSON.\n\n"
      "jobs, with their default N:\n");
  for (const Job& job : kSuite) {
    std::printf("  %-12s %9lld\n", job.name, static_cast<long long>(job.n));
  }
}

std::optional<CommandLine> Misuse(const std::string& message) {
  std::fprintf(stderr, "bench: %s (see bench --help)\n", message.c_str());
  return std::nullopt;
}

std::optional<int64_t> ParsePositive(std::string_view arg, int64_t limit) {
  int64_t value = 0;
  const char* end = arg.data() + arg.size();
  const auto [rest, error] = std::from_chars(arg.data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > limit) {
    return std::nullopt;
  }
  return value;
}

bool IsPowerOfTen(int64_t n) {
  while (n % 10 == 0) n /= 10;
  return n == 1;
}

// Returns nothing after a message on stderr if the command line is wrong.
std::optional<CommandLine> Parse(std::span<char* const> args) {
  constexpr int64_t kMaxN = 1'000'000'000;
  constexpr int64_t kMaxWorkers = 1024;

  if (args.empty() || args.size() > 3) return Misuse("want JOB [N] [P]");
  CommandLine line;
  line.job = std::find_if(std::begin(kSuite), std::end(kSuite),
                          [&](const Job& job) { return std::string_view(args[0]) == job.name; });
  if (line.job == std::end(kSuite)) {
    return Misuse("unknown job \"" + std::string(args[0]) + "\"");
  }
  line.n = line.job->n;
  if (args.size() > 1) {
    const auto n = ParsePositive(args[1], kMaxN);
    if (!n) {
      return Misuse("N must be a whole number from 1 to " + std::to_string(kMaxN) + ", not \"" +
                    args[1] + "\"");
    }
    line.n = *n;
  }
  if (args.size() > 2) {
    const auto workers = ParsePositive(args[2], kMaxWorkers);
    if (!workers) {
      return Misuse("P must be a whole number from 1 to " + std::to_string(kMaxWorkers) +
                    ", not \"" + args[2] + "\"");
    }
    line.workers = static_cast<int>(*workers);
  }
  if (line.job->power_of_ten && !IsPowerOfTen(line.n)) {
    return Misuse(std::string(line.job->name) + ": N must be a power of ten");
  }
  return line;
}

// One that cannot run, if the program has none of that name.
Implementation Find(std::span<const Implementation> implementations, std::string_view job) {
  const auto found = std::find_if(implementations.begin(), implementations.end(),
                                  [&](const Implementation& i) { return i.job == job; });
  return found != implementations.end() ? *found : Implementation{};
}

// Neither destructors nor the runtime's shutdown run: see Main.
[[noreturn]] void ExitNow(ExitStatus status) {
  std::fflush(stdout);
  std::_Exit(status);
}

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  ExitNow(kWrong);
}

void Report(const Peer& peer, const CommandLine& line, const Result& result) {
  const auto ns = static_cast<double>(result.elapsed.count());
  const auto ops = line.job->whole ? 1.0 : static_cast<double>(line.n);
  std::printf(
      "{\"peer\":\"%s\",\"job\":\"%s\",\"n\":%lld,\"procs\":%d,"
      "\"ns_per_op\":%.1f,\"total_ms\":%.1f,\"rss_mb\":%.1f",
      peer.name, line.job->name, static_cast<long long>(line.n), line.workers, ns / ops, ns / 1e6,
      ProcessStatus("VmHWM") / (1 << 20));
  for (const Field& field : result.extra) {
    std::printf(",\"%s\":%.1f", field.name, field.value);
  }
  std::printf("}\n");
}

int ReportNotAvailable(const Peer& peer, const Job& job, const char* reason) {
  std::printf("{\"peer\":\"%s\",\"job\":\"%s\",\"na\":\"%s\"}\n", peer.name, job.name, reason);
  return kNotAvailable;
}

}  // namespace

int Main(int argc, char** argv, const Peer& peer) {
  const std::span<char* const> args(argv + 1, argc > 0 ? argc - 1 : 0);
  if (args.size() == 1 &&
      (std::string_view(args[0]) == "--help" || std::string_view(args[0]) == "-h")) {
    PrintHelp();
    return kOk;
  }
  const std::optional<CommandLine> line = Parse(args);
  if (!line) return kMisuse;

  const Implementation job = Find(peer.jobs, line->job->name);
  if (job.run == nullptr) {
    return ReportNotAvailable(peer, *line->job, job.reason);
  }
  peer.run(line->workers, [&] {
    Report(peer, *line, job.run(line->n));
    ExitNow(kOk);
  });
  Fail("the runtime ended before the job");
}

void ExpectEqual(std::string_view what, int64_t got, int64_t want) {
  if (got == want) return;
  Fail(std::string(what) + " is " + std::to_string(got) + ", want " + std::to_string(want));
}

double ProcessStatus(std::string_view field) {
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    if (key.size() == field.size() + 1 && key.starts_with(field)) {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  Fail("no " + std::string(field) + " in /proc/self/status");
}

}  // namespace bench
