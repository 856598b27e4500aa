// Do networks of fibers that build each other at run time work: power series with demand channels?
//
// After McIlroy's "Squinting at power series": a series is a pair of channels; whoever wants the
// next coefficient asks for it.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using PowserTest = RuntimeTest;
CSP_INSTANTIATE(PowserTest);

struct Series {
  Chan<Unit> demand = MakeChan<Unit>();
  Chan<std::int64_t> data = MakeChan<std::int64_t>();

  std::int64_t Next() const {
    demand.Send({});
    return *data.Recv();
  }
  // No more are wanted: the fiber behind it ends.
  void Drop() const { demand.Close(); }
};

// A series from a function that makes its coefficients, in a fiber of its own.
template <class F>
Series MakeSeries(F next) {
  Series series;
  Go([series, next]() mutable {
    for ([[maybe_unused]] Unit wanted : series.demand) series.data.Send(next());
  });
  return series;
}

Series Constant(std::int64_t c) {
  return MakeSeries([c] { return c; });
}

// The same coefficients for two who ask in their own time.
std::pair<Series, Series> Split(Series in) {
  std::pair<Series, Series> out;
  Go([in, out] {
    std::vector<std::int64_t> read;  // as far as one of them has asked
    std::size_t given[2] = {0, 0};
    bool open[2] = {true, true};
    const Series* ends[2] = {&out.first, &out.second};
    const auto serve = [&](int i) {
      return [&, i](std::optional<Unit> wanted) {
        if (!wanted.has_value()) {
          open[i] = false;
          return;
        }
        if (given[i] == read.size()) read.push_back(in.Next());
        ends[i]->data.Send(read[given[i]++]);
      };
    };
    while (open[0] || open[1]) {
      Select(When(open[0], out.first.demand.OnRecv() >> serve(0)),
             When(open[1], out.second.demand.OnRecv() >> serve(1)));
    }
    in.Drop();
  });
  return out;
}

Series Add(Series a, Series b) {
  Series sum;
  Go([=] {
    for ([[maybe_unused]] Unit wanted : sum.demand) sum.data.Send(a.Next() + b.Next());
    a.Drop();
    b.Drop();
  });
  return sum;
}

// x * s
Series Shift(Series s) {
  Series shifted;
  Go([=] {
    bool first = true;
    for ([[maybe_unused]] Unit wanted : shifted.demand) {
      shifted.data.Send(first ? 0 : s.Next());
      first = false;
    }
    s.Drop();
  });
  return shifted;
}

std::vector<std::int64_t> Take(const Series& s, int count) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(s.Next());
  s.Drop();
  return out;
}

TEST_P(PowserTest, Sums) {
  Here([] {
    EXPECT_EQ(Take(Add(Constant(1), Shift(Constant(2))), 5),
              (std::vector<std::int64_t>{1, 3, 3, 3, 3}));
  });
}

// (1 + x)^n, each power by two copies of the one before.
TEST_P(PowserTest, Binomials) {
  Here([] {
    for (int round = 0; round < Rounds(20); ++round) {
      Series power = MakeSeries(
          [first = true]() mutable { return std::exchange(first, false) ? std::int64_t{1} : 0; });
      for (int n = 0; n < 8; ++n) {
        auto [one, other] = Split(power);
        power = Add(one, Shift(other));
      }
      EXPECT_EQ(Take(power, 10), (std::vector<std::int64_t>{1, 8, 28, 56, 70, 56, 28, 8, 1, 0}));
    }
  });
}

}  // namespace
}  // namespace csp
