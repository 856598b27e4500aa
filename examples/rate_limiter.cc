// Limits on how often something is done: an even pace, and one that lets a burst pass.
//
// The pace is a Ticker. The burst is a bucket of permits, a Semaphore, into which a ticker puts one at
// a time: what nobody has asked for may be spent at once, up to what the bucket holds.
#include <algorithm>
#include <cstdint>
#include <iostream>

#include "csp/csp.h"

namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(2);

// A tick for each request; between two of them lies a period, or more if the requests are slower.
void EvenPace() {
  const absl::Time start = csp::Now();
  csp::Ticker pace(kPeriod);
  for (int request = 1; request <= 5; ++request) {
    pace.Tick();
    std::cout << "request " << request << "\n";
  }
  std::cout << (csp::Now() - start >= 5 * kPeriod ? "kept the pace\n" : "too fast\n");
}

class TokenBucket {
 public:
  explicit TokenBucket(std::int64_t burst) : tokens_(burst) {}

  // Waits for a token; whoever comes first is served first.
  void Take() { tokens_.Acquire(); }
  bool TryTake() { return tokens_.TryAcquire(); }

  // Adds a token each period, as long as there is room; runs until it is cancelled.
  void Fill(absl::Duration period) {
    csp::Ticker ticker(period);
    for (;;) {
      const std::int64_t ticks = ticker.Tick();  // more than one if this fiber was late
      // Nobody else puts tokens in, so there is at least as much room when they arrive.
      tokens_.Release(std::min(ticks, tokens_.size() - tokens_.available()));
    }
  }

 private:
  csp::Semaphore tokens_;
};

void Bursts() {
  TokenBucket bucket(3);
  int at_once = 0;
  while (bucket.TryTake()) ++at_once;
  std::cout << "a burst of " << at_once << "\n";

  csp::WithScope([&](csp::Scope& s) {
    const absl::Time start = csp::Now();
    s.Go([&] { bucket.Fill(kPeriod); });
    for (int request = 1; request <= 4; ++request) bucket.Take();
    std::cout << (csp::Now() - start >= 4 * kPeriod ? "then one a period\n" : "too fast\n");
    s.Cancel();  // the one who fills
  });
}

}  // namespace

int main() {
  return csp::Run([] {
    EvenPace();
    Bursts();
  });
}

// Output:
// request 1
// request 2
// request 3
// request 4
// request 5
// kept the pace
// a burst of 3
// then one a period
