// One publisher, several subscribers, of whom none can hold up the others: who is too slow misses
// something, and is told how much.
#include <iostream>
#include <optional>
#include <string>

#include "csp/csp.h"

namespace {

using News = csp::BroadcastReader<int>;

// Reads until there will be no more.
void Follow(const std::string& name, News news) {
  while (std::optional<csp::Delivery<int>> got = news.Recv()) {
    if (got->missed > 0) std::cout << name << " has missed " << got->missed << "\n";
    std::cout << name << " reads no. " << got->value << "\n";
  }
}

}  // namespace

// On one worker it is known who comes when.
int main() {
  const csp::RunOptions one_worker{.workers = 1};
  return csp::Run(
      [] {
        const auto news = csp::MakeBroadcast<int>(2);  // keeps the last two

        // A reader gets what is published after it was made, whenever it begins to read.
        csp::Task<void> ann = csp::Go(Follow, "Ann", news.Subscribe());
        const News for_bob = news.Subscribe();

        for (int number = 1; number <= 5; ++number) {
          csp::Yield();       // Ann reads what there is
          news.Send(number);  // waits for nobody; Bob is asleep
        }
        news.Close();
        ann.Join();
        csp::Go(Follow, "Bob", for_bob).Join();
      },
      one_worker);
}

// Output:
// Ann reads no. 1
// Ann reads no. 2
// Ann reads no. 3
// Ann reads no. 4
// Ann reads no. 5
// Bob has missed 3
// Bob reads no. 4
// Bob reads no. 5
