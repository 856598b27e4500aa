// Five philosophers, a fork between each two, and it takes two forks to eat (E. W. Dijkstra, 1965).
//
// If each takes the fork to his left and then waits for the other one, all wait for ever.
// std::scoped_lock takes both or none: where the second is in use it gives the first one back. A
// philosopher who waits is a fiber, and holds no thread.
#include <array>
#include <cstddef>
#include <iostream>
#include <mutex>

#include "csp/csp.h"

namespace {

constexpr std::array kNames = {"Plato", "Aristotle", "Hypatia", "Kant", "Arendt"};
constexpr int kMeals = 100;

struct Fork {
  csp::Mutex mu;
  int uses = 0;  // under mu
};

void Dine(Fork& left, Fork& right) {
  for (int meal = 0; meal < kMeals; ++meal) {
    csp::Yield();  // thinks
    const std::scoped_lock both(left.mu, right.mu);
    csp::Yield();  // eats
    ++left.uses;
    ++right.uses;
  }
}

}  // namespace

int main() {
  return csp::Run([] {
    std::array<Fork, kNames.size()> forks;
    csp::WithScope([&](csp::Scope& s) {
      for (std::size_t i = 0; i < kNames.size(); ++i) {
        s.Go([&, i] { Dine(forks[i], forks[(i + 1) % forks.size()]); });
      }
    });
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      std::cout << "the fork to the left of " << kNames[i] << " was used " << forks[i].uses
                << " times\n";
    }
  });
}

// Output:
// the fork to the left of Plato was used 200 times
// the fork to the left of Aristotle was used 200 times
// the fork to the left of Hypatia was used 200 times
// the fork to the left of Kant was used 200 times
// the fork to the left of Arendt was used 200 times
