// A ball goes back and forth between two players. (Sameer Ajmani's talk on Go's concurrency.)
#include <iostream>
#include <string>

#include "csp/csp.h"

namespace {

struct Ball {
  int hits = 0;
};

// Returns each ball, until the other has had enough; how often did it come?
int Play(const std::string& name, csp::RecvChan<Ball> in, csp::SendChan<Ball> out) {
  int mine = 0;
  for (Ball& ball : in) {
    ++ball.hits;
    ++mine;
    if (ball.hits <= 4) std::cout << name << " " << ball.hits << "\n";
    if (ball.hits == 1000) {
      out.Close();
      break;
    }
    out.Send(ball);
  }
  return mine;
}

}  // namespace

int main() {
  return csp::Run([] {
    auto left = csp::MakeChan<Ball>();  // unbuffered: whoever sends waits for the other
    auto right = csp::MakeChan<Ball>();
    csp::Task<int> ping = csp::Go(Play, "ping", left, right);
    csp::Task<int> pong = csp::Go(Play, "pong", right, left);
    left.Send(Ball());
    const int pings = ping.Join();
    const int pongs = pong.Join();
    std::cout << pings << " + " << pongs << " hits\n";
  });
}

// Output:
// ping 1
// pong 2
// ping 3
// pong 4
// 500 + 500 hits
