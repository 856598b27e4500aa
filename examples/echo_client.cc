// Measures a TCP echo server: each connection sends, waits until everything has come back, and sends
// again, until the time is over.
//
//   echo_client [-t WORKERS] [-c CONNECTIONS] [-l LENGTH] [-a ADDRESS] [-d SECONDS]
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "csp/csp.h"

namespace {

using csp::net::TcpStream;

constexpr char kUsage[] =
    "Usage: echo_client [-t WORKERS] [-c CONNECTIONS] [-l LENGTH] [-a ADDRESS] [-d SECONDS]\n"
    "  -t WORKERS      threads that run fibers (0: one for each processor, the default)\n"
    "  -c CONNECTIONS  how many connections talk at once (default 100)\n"
    "  -l LENGTH       bytes of a message (default 100)\n"
    "  -a ADDRESS      of the server (default 127.0.0.1:8080)\n"
    "  -d SECONDS      how long (default 10)\n";

struct Options {
  int workers = 0;
  int connections = 100;
  int length = 100;
  std::string address = "127.0.0.1:8080";
  int seconds = 10;
};

// What one connection has done.
struct Tally {
  std::uint64_t requests = 0;
  std::uint64_t responses = 0;
  std::vector<std::uint32_t> micros;  // each response's time
};

absl::Status Talk(const Options& options, absl::Time end, Tally& tally) {
  absl::StatusOr<TcpStream> conn = TcpStream::Dial(options.address, {.deadline = end});
  if (!conn.ok()) return conn.status();
  const std::string sent(static_cast<std::size_t>(options.length), 'x');
  std::string got(sent.size(), '\0');
  conn->SetDeadline(end + absl::Seconds(1));
  for (absl::Time begin = csp::Now(); begin < end;) {
    absl::Status status = conn->WriteAll(sent);
    if (!status.ok()) return status;
    ++tally.requests;
    status = conn->ReadFull(got);
    if (!status.ok()) return status;
    if (got != sent) return absl::DataLossError("something else came back than was sent");
    ++tally.responses;
    const absl::Time now = csp::Now();
    tally.micros.push_back(static_cast<std::uint32_t>(absl::ToInt64Microseconds(now - begin)));
    begin = now;
  }
  return absl::OkStatus();
}

void Print(const Options& options, const std::vector<Tally>& tallies) {
  Tally all;
  for (const Tally& one : tallies) {
    all.requests += one.requests;
    all.responses += one.responses;
    all.micros.insert(all.micros.end(), one.micros.begin(), one.micros.end());
  }
  std::sort(all.micros.begin(), all.micros.end());
  const auto percentile = [&](double share) {
    if (all.micros.empty()) return std::uint32_t{0};
    return all.micros[static_cast<std::size_t>(static_cast<double>(all.micros.size() - 1) * share)];
  };
  const std::uint64_t seconds = static_cast<std::uint64_t>(options.seconds);
  const std::uint64_t length = static_cast<std::uint64_t>(options.length);
  std::cout << "Speed: " << all.requests / seconds << " requests/s, " << all.responses / seconds
            << " responses/s, " << all.responses * length / seconds / 1000 << " kB/s\n"
            << "Requests: " << all.requests << "\nResponses: " << all.responses << "\n"
            << "Latency: p50 " << percentile(0.5) << " us, p90 " << percentile(0.9) << " us, p99 "
            << percentile(0.99) << " us, p99.9 " << percentile(0.999) << " us, max "
            << percentile(1) << " us\n";
}

int Measure(const Options& options) {
  std::cout << "Benchmarking: " << options.address << ", " << options.connections
            << " connections, " << options.length << " bytes, " << options.seconds << " s\n";
  const absl::Time end = csp::Now() + absl::Seconds(options.seconds);
  std::vector<Tally> tallies(static_cast<std::size_t>(options.connections));
  std::vector<csp::Task<absl::Status>> tasks;
  for (Tally& tally : tallies) {
    tasks.push_back(csp::Go([&] { return Talk(options, end, tally); }));
  }
  absl::Status status;
  for (csp::Task<absl::Status>& task : tasks) status.Update(task.Join());
  Print(options, tallies);
  if (status.ok()) return 0;
  std::cerr << "echo_client: " << status << "\n";
  return 1;
}

// False if the arguments make no sense.
bool Parse(int argc, char** argv, Options& options) {
  for (int option; (option = getopt(argc, argv, "t:c:l:a:d:")) != -1;) {
    int* number = option == 't'   ? &options.workers
                  : option == 'c' ? &options.connections
                  : option == 'l' ? &options.length
                  : option == 'd' ? &options.seconds
                                  : nullptr;
    if (option == 'a') {
      options.address = optarg;
    } else if (number == nullptr || !absl::SimpleAtoi(optarg, number) ||
               *number < (option == 't' ? 0 : 1)) {
      return false;
    }
  }
  return optind == argc;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, options)) {
    std::cerr << kUsage;
    return 2;
  }
  return csp::Run([&] { return Measure(options); }, {.workers = options.workers});
}
