// What handlers may be and do, and what comes out of Select.
#include <concepts>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "csp/csp.h"
#include "csp/select/select.h"
#include "gtest/gtest.h"
#include "tests/chan/counted.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using SelectHandlerTest = RuntimeTest;
CSP_INSTANTIATE(SelectHandlerTest);

constexpr auto kIgnore = [](const auto&...) {};
// A handler that says which case it was.
constexpr auto Says(int which) {
  return [which](const auto&...) { return which; };
}

Chan<int> ReadyChan() {
  auto ch = MakeChan<int>(1);
  ch.Send(0);
  return ch;
}

// --- Handlers. (Decisions 16, 17.)

TEST_P(SelectHandlerTest, WhatAHandlerThrowsComesOutAndTheOperationStays) {
  Here([] {
    auto ch = MakeChan<int>(1);
    ch.Send(7);
    EXPECT_THROW(Select(ch.OnRecv() >> [](std::optional<int>) { throw std::out_of_range(""); }),
                 std::out_of_range);
    EXPECT_EQ(ch.len(), 0u);
    EXPECT_THROW(Select(ch.OnSend(8) >> [] { throw std::out_of_range(""); }), std::out_of_range);
    EXPECT_EQ(ch.Recv(), 8);
    EXPECT_THROW(Select(
                     ch.OnRecv() >> kIgnore, Default >> [] { throw std::out_of_range(""); }),
                 std::out_of_range);
  });
}

TEST_P(SelectHandlerTest, AHandlerMayBlockAndSelect) {
  Here([] {
    auto ch = MakeChan<int>(), inner = MakeChan<int>();
    Task<void> sender = Go([=] {
      ch.Send(1);
      Yield();
      ch.Send(2);  // the same channel, from inside the handler
      inner.Send(3);
    });
    const int sum = Select(ch.OnRecv() >> [&](std::optional<int> first) {
      const int second = *ch.Recv();
      return Select(
          inner.OnRecv() >> [&](std::optional<int> third) { return *first + second + *third; },
          ch.OnRecv() >> Says(-1));
    });
    EXPECT_EQ(sum, 6);
    sender.Join();
  });
}

TEST_P(SelectHandlerTest, AHandlerMayDestroyTheChannel) {
  Here([] {
    for (int round = 0; round < 100; ++round) {
      std::optional<Chan<Counted>> ch = MakeChan<Counted>(1), other = MakeChan<Counted>();
      Counted value(1);
      if (round % 2 == 0) {
        ch->Send(Counted(5));
        Select(
            ch->OnRecv() >>
                [&](std::optional<Counted> v) {
                  ch.reset();
                  other.reset();
                  EXPECT_EQ(v->value(), 5);
                },
            other->OnSend(std::move(value)));
        EXPECT_EQ(value.value(), 1);
      } else {
        Select(
            ch->OnSend(std::move(value)) >>
                [&] {
                  ch.reset();
                  other.reset();
                },
            other->OnRecv() >> kIgnore);
        EXPECT_TRUE(value.empty());
      }
    }
    EXPECT_EQ(Counted::live(), 0);
  });
}

// An event of a temporary handle keeps the channel.
TEST_P(SelectHandlerTest, EventsOfTemporariesOwn) {
  Here([] {
    const auto make = [] {
      auto ch = MakeChan<Counted>(1);
      ch.Send(Counted(9));
      return ch;
    };
    EXPECT_EQ(Select(make().OnRecv() >> [](std::optional<Counted> v) { return v->value(); }), 9);
    Counted value(1);
    Select(MakeChan<Counted>(1).OnSend(std::move(value)), MakeChan<Counted>().OnRecv() >> kIgnore);
    EXPECT_TRUE(value.empty());
    EXPECT_EQ(Counted::live(), 1);  // `value` itself
  });
}

TEST_P(SelectHandlerTest, HandlersMayBeNamedMoveOnlyOrFunctions) {
  Here([] {
    auto ch = MakeChan<int>(1);
    int calls = 0;
    auto named = [&calls, only = std::make_unique<int>(1)](std::optional<int> v) mutable {
      calls += *v + *std::exchange(only, nullptr);
    };
    ch.Send(1);
    Select(ch.OnRecv() >> named);
    EXPECT_EQ(calls, 2);
    static int seen;
    ch.Send(3);
    Select(ch.OnRecv() >> +[](std::optional<int> v) { seen = *v; });
    EXPECT_EQ(seen, 3);
    struct {
      void operator()(const std::optional<int>& v) const { seen = *v; }
    } const object;
    ch.Send(4);
    Select(ch.OnRecv() >> object);
    EXPECT_EQ(seen, 4);
  });
}

// --- Results. (Decision 18.)

TEST_P(SelectHandlerTest, ReturnsTheCommonType) {
  Here([] {
    auto ch = MakeChan<int>(1);
    const auto ready = [&]() -> Chan<int>& {
      std::optional<int> v;
      (void)ch.TryRecv(v);
      ch.Send(1);
      return ch;
    };
    static_assert(std::same_as<void, decltype(Select(ch.OnSend(1)))>);
    static_assert(std::same_as<void, decltype(Select(ch.OnSend(1), OnTimeout(absl::Seconds(1))))>);
    static_assert(std::same_as<std::optional<int>, decltype(Select(ch.OnRecv()))>);
    static_assert(
        std::same_as<double, decltype(Select(
                                 ch.OnRecv() >> Says(1), Default >> [] { return 0.5; }))>);
    EXPECT_EQ(Select(
                  ready().OnRecv() >> Says(1), Default >> [] { return 0.5; }),
              1.0);
    const std::string text = Select(
        ready().OnRecv() >> [](std::optional<int>) { return std::string("string"); },
        Default >> [] { return "literal"; });
    EXPECT_EQ(text, "string");
    const std::unique_ptr<int> pointer = Select(
        ready().OnRecv() >> [](std::optional<int> v) { return std::make_unique<int>(*v); },
        Default >> [] { return std::unique_ptr<int>(); });
    EXPECT_EQ(*pointer, 1);
    const std::optional<int> optional = Select(
        ready().OnRecv(), Default >> [] { return std::nullopt; });
    EXPECT_EQ(optional, 1);
  });
}

TEST_P(SelectHandlerTest, ReturnsValuesNotReferences) {
  Here([] {
    auto ch = ReadyChan();
    std::string text = "text";
    const auto result =
        Select(ch.OnRecv() >> [&](std::optional<int>) -> std::string& { return text; });
    static_assert(std::same_as<const std::string, decltype(result)>);
    EXPECT_EQ(result, "text");
    EXPECT_EQ(text, "text");
  });
}

TEST_P(SelectHandlerTest, ReturnsATaskResultOrItsException) {
  Here([] {
    auto never = MakeChan<int>();
    Task<int> task = Go([] { return 5; });
    EXPECT_EQ(Select(task.OnJoin(), never.OnRecv() >> Says(0)), 5);
    EXPECT_FALSE(task.joinable());
    Task<int> failing = Go([]() -> int { throw std::out_of_range("x"); });
    EXPECT_THROW(Select(failing.OnJoin(), never.OnRecv() >> Says(0)), std::out_of_range);
    Task<void> quiet = Go([] {});
    EXPECT_EQ(Select(quiet.OnJoin() >> Says(1), never.OnRecv() >> Says(0)), 1);
  });
}

}  // namespace
}  // namespace csp
