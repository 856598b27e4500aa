// Jobs about channels.

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "bench/harness/workload.h"
#include "bench/jobs/countdown.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {
namespace {

constexpr std::size_t kCapacity = 128;

Result RunMpmc(int64_t n, std::size_t capacity) {
  constexpr int kTasks = 8;  // On each side.
  Stopwatch watch;
  auto ch = csp::MakeChan<int64_t>(capacity);
  Countdown producers(kTasks);
  Countdown consumers(kTasks);
  std::atomic<int64_t> sum = 0;
  for (int t = 0; t < kTasks; ++t) {
    csp::Go([&, t] {
      for (int64_t i = t; i < n; i += kTasks) ch.Send(i);
      producers.Done();
    });
    csp::Go([&] {
      int64_t part = 0;
      for (int64_t v : ch) part += v;
      sum += part;
      consumers.Done();
    });
  }
  producers.Wait();
  ch.Close();
  consumers.Wait();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("mpmc's sum", sum, SumBelow(n));
  return {elapsed};
}

}  // namespace

Result PingPong(int64_t n) {
  Stopwatch watch;
  auto ping = csp::MakeChan<int64_t>();
  auto pong = csp::MakeChan<int64_t>();
  auto echo = csp::Go([&] {
    for (int64_t v : ping) pong.Send(v + 1);
  });
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    ping.Send(i);
    sum += pong.Recv().value();
  }
  ping.Close();
  echo.Join();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("pingpong's sum", sum, SumBelow(n) + n);
  return {elapsed};
}

Result Buffered(int64_t n) {
  Stopwatch watch;
  auto ch = csp::MakeChan<int64_t>(kCapacity);
  auto producer = csp::Go([&] {
    for (int64_t i = 0; i < n; ++i) ch.Send(i);
    ch.Close();
  });
  int64_t sum = 0;
  for (int64_t v : ch) sum += v;
  producer.Join();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("buffered's sum", sum, SumBelow(n));
  return {elapsed};
}

Result Mpmc(int64_t n) { return RunMpmc(n, kCapacity); }

Result UnbufferedMpmc(int64_t n) { return RunMpmc(n, 0); }

// The token is the number of hops left; who receives 0 reports its own place.
// The other tasks still wait when the clock stops, so they own their channels.
Result Ring(int64_t n) {
  constexpr int64_t kTasks = 503;
  Stopwatch watch;
  auto last = csp::MakeChan<int64_t>();
  auto first = csp::MakeChan<int64_t>();
  auto in = first;
  for (int64_t t = 0; t < kTasks; ++t) {
    auto out = t < kTasks - 1 ? csp::MakeChan<int64_t>() : first;
    csp::Go([t, last, in, out]() mutable {
      for (int64_t token : in) {
        if (token == 0) {
          last.Send(t);
          return;
        }
        out.Send(token - 1);
      }
    });
    in = out;
  }
  first.Send(n);
  const int64_t place = last.Recv().value();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("the token's last place", place, n % kTasks);
  return {elapsed};
}

// The clock stops at the nth prime; the filters live until the process ends.
Result Sieve(int64_t n) {
  Stopwatch watch;
  auto numbers = csp::MakeChan<int64_t>();
  csp::Go([numbers]() mutable {
    for (int64_t i = 2;; ++i) numbers.Send(i);
  });
  int64_t prime = 0;
  for (int64_t i = 0; i < n; ++i) {
    prime = numbers.Recv().value();
    auto filtered = csp::MakeChan<int64_t>();
    csp::Go([in = numbers, out = filtered, prime]() mutable {
      for (int64_t v : in) {
        if (v % prime != 0) out.Send(v);
      }
    });
    numbers = std::move(filtered);
  }
  const auto elapsed = watch.Elapsed();
  ExpectEqual("the prime", prime, NthPrime(n));
  return {elapsed};
}

}  // namespace bench
