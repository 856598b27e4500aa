// Handles: nil, compared, copied, converted to one direction, and what the last one takes along.
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/chan/counted.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

// --- Nil and moved-from handles.

using ChanNilTest = RuntimeTest;
CSP_INSTANTIATE(ChanNilTest);

TEST_P(ChanNilTest, Throws) {
  Here([] {
    Chan<int> moved_from = MakeChan<int>();
    const Chan<int> moved_to = std::move(moved_from);
    EXPECT_FALSE(moved_to.is_nil());
    for (const Chan<int>& nil : {Chan<int>(), moved_from}) {  // NOLINT(bugprone-use-after-move)
      EXPECT_TRUE(nil.is_nil());
      EXPECT_EQ(nil.len(), 0u);
      EXPECT_EQ(nil.capacity(), 0u);
      std::optional<int> v;
      EXPECT_THROW((void)nil.Recv(), NilChannel);
      EXPECT_THROW((void)nil.TryRecv(v), NilChannel);
      EXPECT_THROW((void)nil.RecvFor(absl::ZeroDuration(), v), NilChannel);
      EXPECT_THROW(nil.Send(1), NilChannel);
      EXPECT_THROW((void)nil.TrySend(1), NilChannel);
      EXPECT_THROW((void)nil.SendFor(absl::ZeroDuration(), 1), NilChannel);
      EXPECT_THROW(nil.Close(), NilChannel);
      EXPECT_THROW((void)nil.begin(), NilChannel);
    }
  });
}

TEST_P(ChanNilTest, ErrorsNameTheCall) {
  Here([] {
    try {
      Chan<int>().Close();
      ADD_FAILURE();
    } catch (const NilChannel& e) {
      EXPECT_NE(std::string(e.what()).find("Chan::Close"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("MakeChan"), std::string::npos) << e.what();
    }
  });
}

// --- Handles.

TEST(ChanHandleTest, ComparesByChannel) {
  auto a = MakeChan<int>();
  auto b = MakeChan<int>();
  const auto copy = a;
  const RecvChan<int> recv = a;
  const SendChan<int> send = a;
  EXPECT_EQ(a, copy);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, recv);
  EXPECT_EQ(recv, send);
  EXPECT_NE(b, send);
  EXPECT_EQ(Chan<int>(), Chan<int>());
  EXPECT_EQ(Chan<int>(), RecvChan<int>());
  EXPECT_NE(Chan<int>(), a);
  EXPECT_EQ(std::hash<Chan<int>>()(a), std::hash<RecvChan<int>>()(recv));
  EXPECT_EQ(std::hash<Chan<int>>()(a), std::hash<SendChan<int>>()(send));
  const std::unordered_set<Chan<int>> set{a, b, copy};
  EXPECT_EQ(set.size(), 2u);
  b = a;
  EXPECT_EQ(a, b);
}

TEST(ChanHandleTest, AssignmentToItselfKeepsTheChannel) {
  auto ch = MakeChan<int>(1);
  ch.Send(1);
  const auto& same = ch;
  ch = same;
  EXPECT_EQ(ch.Recv(), 1);
}

TEST(ChanHandleTest, LastHandleDestroysTheValues) {
  for (int kind = 0; kind < 3; ++kind) {
    {
      auto ch = kind == 0   ? MakeChan<Counted>(10)
                : kind == 1 ? MakeChan<Counted>(kUnbounded)
                            : MakeChan<Counted>(1);
      RecvChan<Counted> recv = ch;
      for (int i = 0; i < 10; ++i) (void)ch.TrySend(Counted(i));
      EXPECT_GE(Counted::live(), 1);
      ch = Chan<Counted>();
      EXPECT_GE(Counted::live(), 1);  // `recv` still holds it
    }
    EXPECT_EQ(Counted::live(), 0);
  }
}

TEST(ChanHandleTest, AChannelMayHoldAChannel) {
  auto outer = MakeChan<Chan<int>>(1);
  {
    auto inner = MakeChan<int>(1);
    inner.Send(42);
    outer.Send(inner);
  }
  EXPECT_EQ(outer.Recv()->Recv(), 42);
}

static_assert(std::is_nothrow_move_constructible_v<Chan<int>>);
static_assert(std::is_nothrow_destructible_v<Chan<int>>);
static_assert(std::is_convertible_v<Chan<int>, RecvChan<int>>);
static_assert(std::is_convertible_v<Chan<int>, SendChan<int>>);
static_assert(!std::is_convertible_v<RecvChan<int>, Chan<int>>);
static_assert(!std::is_convertible_v<SendChan<int>, Chan<int>>);
static_assert(!std::is_convertible_v<SendChan<int>, RecvChan<int>>);
static_assert(std::input_iterator<decltype(MakeChan<int>().begin())>);
static_assert(std::ranges::input_range<Chan<int>>);
static_assert(std::ranges::input_range<RecvChan<std::unique_ptr<int>>>);

// C8: the last handle goes on a fiber, on a thread or after the runtime, whoever comes last.
TEST(ChanHandleTest, LastHandleMayGoAnywhere) {
  std::vector<Chan<Counted>> outlive;
  csp::Run(
      [&] {
        for (int i = 0; i < Rounds(1'000); ++i) {
          auto ch = MakeChan<Counted>(1);
          ch.Send(Counted(i));
          Task<void> fiber = Go([ch]() mutable { ch = Chan<Counted>(); });
          Task<void> thread = BlockingDetached([ch]() mutable { ch = Chan<Counted>(); });
          if (i % 100 == 0) outlive.push_back(ch);
          ch = Chan<Counted>();
          fiber.Join();
          thread.Join();
        }
        EXPECT_TRUE(
            EventuallyTrue([&] { return Counted::live() == static_cast<int>(outlive.size()); }));
      },
      {.workers = 2});
  outlive.clear();
  EXPECT_EQ(Counted::live(), 0);
}

// ... or in a static.
Chan<std::unique_ptr<int>>& StaticChannel() {
  static auto channel = MakeChan<std::unique_ptr<int>>(1);
  return channel;
}
TEST(ChanHandleTest, LastHandleMayBeStatic) { StaticChannel().Send(std::make_unique<int>(1)); }

}  // namespace
}  // namespace csp
