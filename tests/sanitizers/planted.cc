// Bugs on fibers, for the sanitizers to find. Usage: planted BUG
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"

namespace {

int shared = 0;

// Two fibers on two workers write without any order.
void Race() {
  std::atomic<int> there{0};
  const auto write = [&] {
    ++there;
    while (there < 2) {
    }
    for (int i = 0; i < 1000; ++i) ++shared;
  };
  csp::Task<void> a = csp::Go(write);
  csp::Task<void> b = csp::Go(write);
  a.Join();
  b.Join();
}

// A fiber against a plain thread.
void RaceWithAThread() {
  std::atomic<int> there{0};
  const auto write = [&] {
    there.fetch_add(1, std::memory_order_relaxed);
    while (there.load(std::memory_order_relaxed) < 2) {
    }
    for (int i = 0; i < 1000; ++i) ++shared;
  };
  std::thread thread(write);
  csp::Go(write).Join();
  thread.join();
}

void UseAfterFree() {
  csp::Go([] {
    auto* freed = new int[10];
    volatile int* again = freed;
    asm volatile("" : "+r"(again));  // hides from the compiler what it would warn of
    csp::Yield();
    delete[] freed;
    csp::Yield();
    std::printf("%d\n", again[3]);
  }).Join();
}

// Beyond an array on a fiber's stack.
void StackOverrun() {
  csp::Go([] {
    volatile char text[16];
    std::memset(const_cast<char*>(text), 0, sizeof text);
    csp::Yield();
    volatile int at = 16;
    text[at] = 1;
    std::printf("%d\n", text[0]);
  }).Join();
}

void Leak() {
  csp::Go([] {
    volatile char* lost = new char[12345];
    csp::Yield();
    lost[0] = 1;
    lost = nullptr;
  }).Join();
}

// What only a parked fiber's stack points to is no leak.
void NoLeak() {
  auto* never = new csp::Event;  // reachable from the fiber, which never ends
  std::atomic<bool> parked{false};
  csp::Go([never, &parked] {
    auto* held = new char[54321];
    held[0] = 1;
    parked = true;
    never->Wait();
    delete[] held;
  });
  while (!parked) csp::Yield();
  csp::SleepFor(absl::Milliseconds(10));
}

void NoBug() {
  for (int i = 0; i < 100; ++i) {
    const csp::Chan<int> ch = csp::MakeChan<int>();
    csp::Task<void> task = csp::Go([ch] {
      shared = 1;
      ch.Send(1);
    });
    ch.Recv();
    shared = 2;
    task.Join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* bug = argc > 1 ? argv[1] : "";
  const auto is = [bug](const char* name) { return std::strcmp(bug, name) == 0; };
  if (is("no_leak")) {
    NoLeak();  // on the default runtime, which is not unwound
    return 0;
  }
  return csp::Run(
      [&] {
        if (is("race")) {
          Race();
        } else if (is("race_with_a_thread")) {
          RaceWithAThread();
        } else if (is("use_after_free")) {
          UseAfterFree();
        } else if (is("stack_overrun")) {
          StackOverrun();
        } else if (is("leak")) {
          Leak();
        } else if (is("none")) {
          NoBug();
        } else {
          return 2;
        }
        return 0;
      },
      {.workers = 2});
}
