// Jobs about starting tasks and giving way.

#include <utility>

#include "bench/harness/workload.h"
#include "bench/jobs/countdown.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {
namespace {

// By value: a child may still be leaving Send when its parent has all ten
// numbers and is gone.
void SkynetNode(csp::Chan<int64_t> parent, int64_t first, int64_t leaves) {
  if (leaves == 1) {
    parent.Send(first);
    return;
  }
  auto children = csp::MakeChan<int64_t>();
  const int64_t each = leaves / 10;
  for (int64_t i = 0; i < 10; ++i) {
    csp::Go([children, child = first + i * each, each]() mutable {
      SkynetNode(std::move(children), child, each);
    });
  }
  int64_t sum = 0;
  for (int i = 0; i < 10; ++i) sum += children.Recv().value();
  parent.Send(sum);
}

}  // namespace

Result Spawn(int64_t n) {
  Stopwatch watch;
  Countdown children(n);
  for (int64_t i = 0; i < n; ++i) csp::Go([&] { children.Done(); });
  children.Wait();
  return {watch.Elapsed()};
}

Result SpawnJoin(int64_t n) {
  Stopwatch watch;
  for (int64_t i = 0; i < n; ++i) csp::Go([] {}).Join();
  return {watch.Elapsed()};
}

// Each task needs its stack for longer than one run.
Result SpawnBlock(int64_t n) {
  Stopwatch watch;
  auto release = csp::MakeChan<int64_t>();
  Countdown started(n);
  Countdown finished(n);
  for (int64_t i = 0; i < n; ++i) {
    csp::Go([&] {
      started.Done();
      release.Recv();
      finished.Done();
    });
  }
  started.Wait();
  release.Close();
  finished.Wait();
  return {watch.Elapsed()};
}

Result Yield(int64_t n) {
  Stopwatch watch;
  Countdown tasks(2);
  for (const int64_t times : {n / 2, n - n / 2}) {
    csp::Go([&tasks, times] {
      for (int64_t i = 0; i < times; ++i) csp::Yield();
      tasks.Done();
    });
  }
  tasks.Wait();
  return {watch.Elapsed()};
}

Result Skynet(int64_t n) {
  Stopwatch watch;
  auto root = csp::MakeChan<int64_t>();
  csp::Go([root, n]() mutable { SkynetNode(std::move(root), 0, n); });
  const int64_t sum = root.Recv().value();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("skynet's sum", sum, SumBelow(n));
  return {elapsed};
}

}  // namespace bench
