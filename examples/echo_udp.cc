// A UDP echo server: sends every datagram back to whoever has sent it.
//
//   echo_udp [-t WORKERS] [-a ADDRESS]
//
// echo_udp_client.cc is what asks it.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "csp/csp.h"

namespace {

using csp::net::Bytes;
using csp::net::UdpSocket;

constexpr char kUsage[] =
    "Usage: echo_udp [-t WORKERS] [-a ADDRESS]\n"
    "  -t WORKERS  threads that run fibers (0: one for each processor, the default)\n"
    "  -a ADDRESS  where to receive (default 127.0.0.1:8080; port 0: any that is free)\n";

int Serve(const std::string& address) {
  absl::StatusOr<UdpSocket> socket = UdpSocket::Bind(address);
  if (!socket.ok()) {
    std::cerr << "echo_udp: " << address << ": " << socket.status() << "\n";
    return 1;
  }
  std::cout << "receiving at " << socket->local_endpoint()->ToString() << std::endl;
  std::vector<char> buffer(64 << 10);  // no datagram is longer
  for (;;) {
    const absl::StatusOr<UdpSocket::Received> got = socket->RecvFrom(buffer);
    if (!got.ok()) {
      std::cerr << "echo_udp: " << got.status() << "\n";
      return 1;
    }
    // What cannot be sent is lost, as any datagram may be.
    (void)socket->SendTo(Bytes(buffer.data(), got->size), got->from);
  }
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
