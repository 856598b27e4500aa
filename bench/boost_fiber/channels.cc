// Jobs about channels.

#include <atomic>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/channel_op_status.hpp>
#include <boost/fiber/unbuffered_channel.hpp>
#include <memory>
#include <vector>

#include "bench/boost_fiber/fiber.h"
#include "bench/boost_fiber/jobs.h"
#include "bench/harness/workload.h"

namespace bench {
namespace {

using Unbuffered = boost::fibers::unbuffered_channel<int64_t>;
using BufferedChannel = boost::fibers::buffered_channel<int64_t>;

// A buffered_channel wants a power of two and holds one fewer.
constexpr std::size_t kCapacity = 128;

constexpr auto kSuccess = boost::fibers::channel_op_status::success;

template <typename Channel>
Result RunMpmc(int64_t n, Channel& ch) {
  constexpr int kTasks = 8;  // On each side.
  Stopwatch watch;
  Countdown producers(kTasks);
  Countdown consumers(kTasks);
  std::atomic<int64_t> sum = 0;
  for (int t = 0; t < kTasks; ++t) {
    Go([&, t] {
      for (int64_t i = t; i < n; i += kTasks) ch.push(i);
      producers.Done();
    });
    Go([&] {
      int64_t part = 0;
      int64_t v;
      while (ch.pop(v) == kSuccess) part += v;
      sum += part;
      consumers.Done();
    });
  }
  producers.Wait();
  ch.close();
  consumers.Wait();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("mpmc's sum", sum, SumBelow(n));
  return {elapsed};
}

}  // namespace

Result PingPong(int64_t n) {
  Stopwatch watch;
  Unbuffered ping;
  Unbuffered pong;
  boost::fibers::fiber echo(boost::fibers::launch::post, [&] {
    int64_t v;
    while (ping.pop(v) == kSuccess) pong.push(v + 1);
  });
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    ping.push(i);
    sum += pong.value_pop();
  }
  ping.close();
  echo.join();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("pingpong's sum", sum, SumBelow(n) + n);
  return {elapsed};
}

Result Buffered(int64_t n) {
  Stopwatch watch;
  BufferedChannel ch(kCapacity);
  boost::fibers::fiber producer(boost::fibers::launch::post, [&] {
    for (int64_t i = 0; i < n; ++i) ch.push(i);
    ch.close();
  });
  int64_t sum = 0;
  int64_t v;
  while (ch.pop(v) == kSuccess) sum += v;
  producer.join();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("buffered's sum", sum, SumBelow(n));
  return {elapsed};
}

Result Mpmc(int64_t n) {
  BufferedChannel ch(kCapacity);
  return RunMpmc(n, ch);
}

Result UnbufferedMpmc(int64_t n) {
  Unbuffered ch;
  return RunMpmc(n, ch);
}

// Who got the last token leaves; the others still wait when the clock stops, so
// the channels are leaked on purpose.
Result Ring(int64_t n) {
  constexpr std::size_t kTasks = 503;
  Stopwatch watch;
  auto& last = *new Unbuffered;
  auto& ring = *new std::vector<Unbuffered>(kTasks);
  for (std::size_t t = 0; t < kTasks; ++t) {
    Go([&last, &ring, t] {
      Unbuffered& in = ring[t];
      Unbuffered& out = ring[(t + 1) % kTasks];
      // The token is the number of hops left.
      for (;;) {
        const int64_t token = in.value_pop();
        if (token == 0) {
          last.push(static_cast<int64_t>(t));
          return;
        }
        out.push(token - 1);
      }
    });
  }
  ring[0].push(n);
  const int64_t place = last.value_pop();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("the token's last place", place, n % std::ssize(ring));
  return {elapsed};
}

// As Ring's, the filters still live when the clock stops: at the nth prime.
Result Sieve(int64_t n) {
  Stopwatch watch;
  auto* numbers = new Unbuffered;
  Go([numbers] {
    for (int64_t i = 2;; ++i) numbers->push(i);
  });
  int64_t prime = 0;
  for (int64_t i = 0; i < n; ++i) {
    prime = numbers->value_pop();
    auto* filtered = new Unbuffered;
    Go([in = numbers, out = filtered, prime] {
      for (;;) {
        const int64_t v = in->value_pop();
        if (v % prime != 0) out->push(v);
      }
    });
    numbers = filtered;
  }
  const auto elapsed = watch.Elapsed();
  ExpectEqual("the prime", prime, NthPrime(n));
  return {elapsed};
}

}  // namespace bench
