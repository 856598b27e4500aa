// A TCP echo server: every connection is a fiber that reads and writes as if it had a thread.
//
//   echo_server [-t WORKERS] [-a ADDRESS]
//
// echo_client.cc is what measures it.
#include <unistd.h>

#include <cstddef>
#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "csp/csp.h"

namespace {

using csp::net::Bytes;
using csp::net::TcpListener;
using csp::net::TcpStream;

constexpr char kUsage[] =
    "Usage: echo_server [-t WORKERS] [-a ADDRESS]\n"
    "  -t WORKERS  threads that run fibers (0: one for each processor, the default)\n"
    "  -a ADDRESS  where to listen (default 127.0.0.1:8080; port 0: any that is free)\n";

void Echo(TcpStream conn) {
  char buffer[16 << 10];
  for (;;) {
    const absl::StatusOr<std::size_t> count = conn.Read(buffer);
    if (!count.ok() || *count == 0) return;
    if (!conn.WriteAll(Bytes(buffer, *count)).ok()) return;
  }
}

int Serve(const std::string& address) {
  absl::StatusOr<TcpListener> listener = TcpListener::Listen(address);
  if (!listener.ok()) {
    std::cerr << "echo_server: " << address << ": " << listener.status() << "\n";
    return 1;
  }
  std::cout << "listening on " << listener->local_endpoint()->ToString() << std::endl;
  for (TcpStream&& conn : *listener) csp::Go(Echo, std::move(conn));
  std::cerr << "echo_server: " << listener->status() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string address = "127.0.0.1:8080";
  int workers = 0;
  bool ok = true;
  for (int option; (option = getopt(argc, argv, "t:a:")) != -1;) {
    if (option == 'a') {
      address = optarg;
    } else {
      ok = ok && option == 't' && absl::SimpleAtoi(optarg, &workers) && workers >= 0;
    }
  }
  if (!ok || optind != argc) {
    std::cerr << kUsage;
    return 2;
  }
  return csp::Run([&] { return Serve(address); }, {.workers = workers});
}
