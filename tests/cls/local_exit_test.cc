// Locals before main, after it, in callbacks at exit, and in fibers that are still there then.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "csp/cls/local.h"
#include "csp/task/go.h"

namespace {

int failures = 0;

#define CHECK_THAT(condition)                                 \
  do {                                                        \
    if (!(condition)) {                                       \
      std::fprintf(stderr, "%d: %s\n", __LINE__, #condition); \
      ++failures;                                             \
    }                                                         \
  } while (false)

int destroyed = 0;
struct Value {
  int number = 0;
  std::string text = "a text of more than sixteen bytes";
  ~Value() { ++destroyed; }
};

extern csp::Local<Value> defined_below;

// Constructed first, so destroyed last: says how it went.
struct Last {
  ~Last() {
    // The values of main's thread have been destroyed by now; this one is new.
    CHECK_THAT(defined_below->number == 0);
    CHECK_THAT(destroyed == 2);
    defined_below->number = 7;
    CHECK_THAT(defined_below->number == 7);
    if (failures != 0) _exit(1);
  }
} last;

// Its constructor makes a value, which therefore outlives it.
struct Second {
  Second() {
    defined_below->number = 1;  // the Local's definition has not been reached
  }
  ~Second() { CHECK_THAT(defined_below->number == 1); }
} second;

constinit csp::Local<Value> defined_below;
csp::Local<std::string> with_state{[text = std::string("state")] { return text + "!"; }};
csp::Local<std::string> inherited{csp::kInherit};

struct First {
  ~First() {
    CHECK_THAT(*with_state == "state!");
    *with_state += "?";
    CHECK_THAT(*with_state == "state!?");
    inherited = "set in a static destructor";
    const csp::Local<std::string>::Bind bind(inherited, "bound");
    CHECK_THAT(*inherited == "bound");
    std::thread([] {
      CHECK_THAT(!inherited.has_value());
      inherited = "thread";
    }).join();
  }
} first;

void AtExit() { CHECK_THAT(*with_state == "state!"); }

}  // namespace

int main() {
  CHECK_THAT(defined_below->number == 1);
  CHECK_THAT(destroyed == 0);
  std::atexit(&AtExit);
  inherited = "main";
  std::thread([] {
    defined_below->number = 2;
    CHECK_THAT(destroyed == 0);
  }).join();
  CHECK_THAT(destroyed == 1);

  // Fibers of the default runtime that have values when the process ends.
  for (int i = 0; i < 100; ++i) {
    csp::Go([] {
      auto local = std::make_unique<csp::Local<std::string>>();
      *local = "a text of more than sixteen bytes";
      for (;;) {
        *inherited += "x";
        csp::Yield();
      }
    });
  }
  for (int i = 0; i < 100; ++i) csp::Yield();
  return failures;
}
