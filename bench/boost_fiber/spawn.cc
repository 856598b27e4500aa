// Jobs about starting tasks and giving way.

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/unbuffered_channel.hpp>
#include <memory>

#include "bench/boost_fiber/fiber.h"
#include "bench/boost_fiber/jobs.h"
#include "bench/harness/workload.h"

namespace bench {
namespace {

using Channel = boost::fibers::unbuffered_channel<int64_t>;

// Shared, because a child may still be leaving push when its parent has all ten
// numbers and is gone.
void SkynetNode(std::shared_ptr<Channel> parent, int64_t first, int64_t leaves) {
  if (leaves == 1) {
    parent->push(first);
    return;
  }
  auto children = std::make_shared<Channel>();
  const int64_t each = leaves / 10;
  for (int64_t i = 0; i < 10; ++i) {
    Go([children, child = first + i * each, each] { SkynetNode(children, child, each); });
  }
  int64_t sum = 0;
  for (int i = 0; i < 10; ++i) sum += children->value_pop();
  parent->push(sum);
}

}  // namespace

Result Spawn(int64_t n) {
  Stopwatch watch;
  Countdown children(n);
  for (int64_t i = 0; i < n; ++i) Go([&] { children.Done(); });
  children.Wait();
  return {watch.Elapsed()};
}

Result SpawnJoin(int64_t n) {
  Stopwatch watch;
  for (int64_t i = 0; i < n; ++i) {
    boost::fibers::fiber(boost::fibers::launch::post, [] {}).join();
  }
  return {watch.Elapsed()};
}

Result SpawnBlock(int64_t n) {
  Stopwatch watch;
  Channel release;
  Countdown started(n);
  Countdown finished(n);
  for (int64_t i = 0; i < n; ++i) {
    Go([&] {
      started.Done();
      int64_t nothing;
      release.pop(nothing);
      finished.Done();
    });
  }
  started.Wait();
  release.close();
  finished.Wait();
  return {watch.Elapsed()};
}

Result Yield(int64_t n) {
  Stopwatch watch;
  Countdown tasks(2);
  for (const int64_t times : {n / 2, n - n / 2}) {
    Go([&tasks, times] {
      for (int64_t i = 0; i < times; ++i) boost::this_fiber::yield();
      tasks.Done();
    });
  }
  tasks.Wait();
  return {watch.Elapsed()};
}

Result Skynet(int64_t n) {
  Stopwatch watch;
  auto root = std::make_shared<Channel>();
  Go([root, n] { SkynetNode(root, 0, n); });
  const int64_t sum = root->value_pop();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("skynet's sum", sum, SumBelow(n));
  return {elapsed};
}

}  // namespace bench
