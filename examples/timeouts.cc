// Time as one event among others: for one wait, for a whole conversation, again and again.
#include <cstdint>
#include <iostream>
#include <optional>

#include "csp/csp.h"

namespace {

using absl::Milliseconds;

// A number every `pause`.
csp::RecvChan<int> Numbers(absl::Duration pause) {
  auto out = csp::MakeChan<int>();
  csp::Go([=] {
    for (int i = 1;; ++i) {
      csp::SleepFor(pause);
      out.Send(i);
    }
  });
  return out;
}

// OnTimeout begins anew with each Select: it limits the silence, not the conversation.
void OneWait() {
  auto slow = Numbers(absl::Hours(1));
  csp::Select(
      slow.OnRecv() >> [](std::optional<int> i) { std::cout << "got " << *i << "\n"; },
      csp::OnTimeout(Milliseconds(5)) >> [] { std::cout << "too slow\n"; });
}

// A Timer goes on from one Select to the next.
void WholeConversation() {
  auto numbers = Numbers(absl::Microseconds(100));
  csp::Timer over(Milliseconds(20));
  bool any = false;
  for (bool open = true; open;) {
    csp::Select(
        numbers.OnRecv() >> [&](std::optional<int>) { any = true; },
        over.OnFire() >> [&] { open = false; });
  }
  std::cout << (any ? "talked until the time was over\n" : "nothing was said\n");
}

// Each sign of life pushes the alarm back. After Reset no old tick can come.
void Watchdog() {
  auto heart = csp::MakeChan<int>();
  csp::Go([=] {
    for (int beat = 1; beat <= 3; ++beat) {
      heart.Send(beat);
      csp::SleepFor(Milliseconds(1));
    }
  });
  csp::Timer alarm(absl::Seconds(1));
  int beats = 0;
  for (bool alive = true; alive;) {
    csp::Select(
        heart.OnRecv() >>
            [&](std::optional<int> beat) {
              beats = *beat;
              alarm.Reset(Milliseconds(50));
            },
        alarm.OnFire() >> [&] { alive = false; });
  }
  std::cout << "silent after " << beats << " beats\n";
}

// A late receiver gets one tick that counts for all.
void Ticks() {
  csp::Ticker ticker(Milliseconds(2));
  std::int64_t ticks = ticker.Tick();
  csp::SleepFor(Milliseconds(7));
  ticks += ticker.Tick();
  std::cout << (ticks >= 4 ? "all ticks accounted for\n" : "ticks are missing\n");
}

}  // namespace

int main() {
  return csp::Run([] {
    OneWait();
    WholeConversation();
    Watchdog();
    Ticks();
  });
}

// Output:
// too slow
// talked until the time was over
// silent after 3 beats
// all ticks accounted for
