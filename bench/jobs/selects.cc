// Jobs about select.

#include <array>
#include <cstddef>
#include <optional>

#include "absl/time/time.h"
#include "bench/harness/workload.h"
#include "bench/jobs/countdown.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {
namespace {

Result RunSelect4(int64_t n, std::size_t capacity) {
  constexpr int kProducers = 4;
  Stopwatch watch;
  std::array<csp::Chan<int64_t>, kProducers> in;
  Countdown producers(kProducers);
  for (int t = 0; t < kProducers; ++t) {
    in[t] = csp::MakeChan<int64_t>(capacity);
    csp::Go([&, t] {
      for (int64_t i = t; i < n; i += kProducers) in[t].Send(i);
      producers.Done();
    });
  }
  auto& [a, b, c, d] = in;
  int64_t sum = 0;
  const auto add = [&sum](std::optional<int64_t> v) { sum += *v; };
  for (int64_t i = 0; i < n; ++i) {
    csp::Select(a.OnRecv() >> add, b.OnRecv() >> add, c.OnRecv() >> add, d.OnRecv() >> add);
  }
  producers.Wait();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("select4's sum", sum, SumBelow(n));
  return {elapsed};
}

}  // namespace

Result Select4(int64_t n) { return RunSelect4(n, 0); }

Result SelectBuffered(int64_t n) { return RunSelect4(n, 64); }

Result SelectTimeout(int64_t n) {
  Stopwatch watch;
  auto ch = csp::MakeChan<int64_t>();
  auto producer = csp::Go([&] {
    for (int64_t i = 0; i < n; ++i) ch.Send(i);
  });
  int64_t sum = 0;
  int64_t timeouts = 0;
  for (int64_t i = 0; i < n; ++i) {
    csp::Select(
        ch.OnRecv() >> [&](std::optional<int64_t> v) { sum += *v; },
        csp::OnTimeout(absl::Hours(1)) >> [&] { ++timeouts; });
  }
  producer.Join();
  const auto elapsed = watch.Elapsed();
  ExpectEqual("the number of hours passed", timeouts, 0);
  ExpectEqual("seltimeout's sum", sum, SumBelow(n));
  return {elapsed};
}

}  // namespace bench
