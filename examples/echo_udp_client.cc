// Asks a UDP echo server: each client sends a numbered datagram and waits for it to come back. What
// has not come after 100 ms counts as lost, and the next one is sent.
//
//   echo_udp_client [-t WORKERS] [-c CLIENTS] [-n COUNT] [-a ADDRESS]
#include <unistd.h>

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "csp/csp.h"

namespace {

using csp::net::Endpoint;
using csp::net::UdpSocket;

constexpr char kUsage[] =
    "Usage: echo_udp_client [-t WORKERS] [-c CLIENTS] [-n COUNT] [-a ADDRESS]\n"
    "  -t WORKERS  threads that run fibers (0: one for each processor, the default)\n"
    "  -c CLIENTS  how many ask at once (default 10)\n"
    "  -n COUNT    datagrams that each sends (default 1000)\n"
    "  -a ADDRESS  of the server (default 127.0.0.1:8080)\n";

struct Options {
  int workers = 0;
  int clients = 10;
  int count = 1000;
  std::string address = "127.0.0.1:8080";
};

// True if `sent` comes back in time; what was late and belongs to an earlier one is passed over.
absl::StatusOr<bool> ComesBack(UdpSocket& socket, std::string_view sent) {
  socket.SetReadDeadline(csp::Now() + absl::Milliseconds(100));
  for (char buffer[64];;) {
    const absl::StatusOr<UdpSocket::Received> got = socket.Recv(buffer);
    if (absl::IsDeadlineExceeded(got.status())) return false;
    if (!got.ok()) return got.status();
    if (std::string_view(buffer, got->size) == sent) return true;
  }
}

// How many have come back.
absl::StatusOr<int> Ask(const Endpoint& server, int count) {
  absl::StatusOr<UdpSocket> socket = UdpSocket::Bind(server.is_v6() ? "[::]:0" : "0.0.0.0:0");
  if (!socket.ok()) return socket.status();
  absl::Status status = socket->Connect(server);
  if (!status.ok()) return status;
  int answered = 0;
  for (int i = 0; i < count; ++i) {
    const std::string sent = "number " + std::to_string(i);
    status = socket->Send(sent);
    if (!status.ok()) return status;
    const absl::StatusOr<bool> back = ComesBack(*socket, sent);
    if (!back.ok()) return back.status();
    if (*back) ++answered;
  }
  return answered;
}

int AskAll(const Options& options) {
  const absl::StatusOr<std::vector<Endpoint>> server = csp::net::Resolve(options.address);
  if (!server.ok()) {
    std::cerr << "echo_udp_client: " << server.status() << "\n";
    return 1;
  }
  std::vector<csp::Task<absl::StatusOr<int>>> tasks;
  for (int i = 0; i < options.clients; ++i) {
    tasks.push_back(csp::Go([&] { return Ask(server->front(), options.count); }));
  }
  int answered = 0;
  absl::Status status;
  for (csp::Task<absl::StatusOr<int>>& task : tasks) {
    const absl::StatusOr<int> one = task.Join();
    if (one.ok()) answered += *one;
    status.Update(one.status());
  }
  if (!status.ok()) {
    std::cerr << "echo_udp_client: " << status << "\n";
    return 1;
  }
  const int sent = options.clients * options.count;
  std::cout << "Sent: " << sent << "\nAnswered: " << answered << "\nLost: " << sent - answered
            << "\n";
  return 0;
}

// False if the arguments make no sense.
bool Parse(int argc, char** argv, Options& options) {
  for (int option; (option = getopt(argc, argv, "t:c:n:a:")) != -1;) {
    int* number = option == 't'   ? &options.workers
                  : option == 'c' ? &options.clients
                  : option == 'n' ? &options.count
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
  return csp::Run([&] { return AskAll(options); }, {.workers = options.workers});
}
