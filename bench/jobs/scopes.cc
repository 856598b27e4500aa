// Jobs about tasks that end together.

#include <algorithm>
#include <atomic>

#include "bench/harness/workload.h"
#include "bench/jobs/countdown.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {
namespace {

// Calls `run` with the sizes of groups that make n together.
template <class Run>
void InGroups(int64_t n, int64_t group, Run run) {
  for (; n > 0; n -= group) run(std::min(n, group));
}

constexpr int64_t kScope = 10;
constexpr int64_t kCancelled = 100;

}  // namespace

Result Scope(int64_t n) {
  std::atomic<int64_t> ran{0};
  Stopwatch watch;
  InGroups(n, kScope, [&](int64_t tasks) {
    csp::WithScope([&](csp::Scope& scope) {
      for (int64_t i = 0; i < tasks; ++i) scope.Go([&] { ran.fetch_add(1); });
    });
  });
  const auto elapsed = watch.Elapsed();
  ExpectEqual("scope's tasks", ran.load(), n);
  return {elapsed};
}

Result CancelTree(int64_t n) {
  Stopwatch watch;
  InGroups(n, kCancelled, [](int64_t tasks) {
    const csp::CancelSource all;
    Countdown waiting(tasks);
    Countdown finished(tasks);
    for (int64_t i = 0; i < tasks; ++i) {
      csp::Go([&, token = csp::CancelSource(all.token()).token()] {
        waiting.Done();
        token.Wait();
        finished.Done();
      });
    }
    waiting.Wait();
    all.Cancel();
    finished.Wait();
  });
  return {watch.Elapsed()};
}

Result CancelScope(int64_t n) {
  std::atomic<int64_t> received{0};
  Stopwatch watch;
  InGroups(n, kCancelled, [&](int64_t tasks) {
    auto never = csp::MakeChan<int>();
    Countdown waiting(tasks);
    csp::WithScope([&](csp::Scope& scope) {
      for (int64_t i = 0; i < tasks; ++i) {
        scope.Go([&] {
          waiting.Done();
          never.Recv();
          received.fetch_add(1);
        });
      }
      waiting.Wait();
      scope.Cancel();
    });
  });
  const auto elapsed = watch.Elapsed();
  ExpectEqual("what was received", received.load(), int64_t{0});
  return {elapsed};
}

}  // namespace bench
