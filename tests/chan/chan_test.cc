// Channels by themselves: capacities, order, closing, the try and timed forms, nil, handles.

#include "csp/chan/chan.h"

#include <array>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/chan/counted.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using ChanTest = RuntimeTest;
CSP_INSTANTIATE(ChanTest);

// A channel of each kind, by name.
struct Flavour {
  const char* name;
  Chan<int> (*make)();
};
constexpr Flavour kFlavours[] = {
    {"unbuffered", [] { return MakeChan<int>(); }},
    {"capacity 1", [] { return MakeChan<int>(1); }},
    {"capacity 2", [] { return MakeChan<int>(2); }},
    {"capacity 128", [] { return MakeChan<int>(128); }},
    {"unbounded", [] { return MakeChan<int>(kUnbounded); }},
};

// --- Capacity. (C9: any capacity, exactly.)

TEST_P(ChanTest, TakesExactlyItsCapacity) {
  Here([] {
    for (std::size_t capacity : {0, 1, 2, 3, 5, 7, 8, 1000}) {
      auto ch = MakeChan<int>(capacity);
      EXPECT_EQ(ch.capacity(), capacity);
      for (int round = 0; round < 3; ++round) {
        std::size_t sent = 0;
        while (ch.TrySend(static_cast<int>(sent))) {
          ASSERT_EQ(ch.len(), ++sent);
        }
        EXPECT_EQ(sent, capacity);
        std::optional<int> v;
        for (std::size_t i = 0; i < sent; ++i) {
          ASSERT_TRUE(ch.TryRecv(v));
          ASSERT_EQ(v, static_cast<int>(i));
        }
        EXPECT_FALSE(ch.TryRecv(v));
        EXPECT_EQ(v, std::nullopt);
        EXPECT_EQ(ch.len(), 0u);
      }
    }
  });
}

TEST_P(ChanTest, UnboundedTakesAnything) {
  Here([] {
    auto ch = MakeChan<int>(kUnbounded);
    EXPECT_EQ(ch.capacity(), SIZE_MAX);
    const int count = Rounds(100'000);
    for (int i = 0; i < count; ++i) ch.Send(i);
    EXPECT_EQ(ch.len(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) ASSERT_EQ(ch.Recv(), i);
  });
}

TEST_P(ChanTest, RefusesACapacityThatFitsNowhere) {
  Here([] {
    EXPECT_THROW((void)MakeChan<int>(SIZE_MAX), InvalidArgument);
    EXPECT_THROW((void)MakeChan<int>(static_cast<std::size_t>(-1)), InvalidArgument);
    EXPECT_THROW((void)MakeChan<char>(SIZE_MAX), InvalidArgument);
  });
}

// --- Order.

TEST_P(ChanTest, IsFifo) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      auto ch = flavour.make();
      const int count = Rounds(20'000);
      Task<void> sender = Go([=] {
        for (int i = 0; i < count; ++i) ch.Send(i);
        ch.Close();
      });
      int expected = 0;
      while (std::optional<int> v = ch.Recv()) ASSERT_EQ(*v, expected++) << flavour.name;
      EXPECT_EQ(expected, count) << flavour.name;
      sender.Join();
    }
  });
}

// Values of one sender stay in order among those of others, and nothing is lost or doubled.
TEST_P(ChanTest, KeepsEachSendersOrder) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      constexpr int kSenders = 4;
      const int count = Rounds(5'000);
      auto ch = flavour.make();
      std::vector<Task<void>> senders;
      for (int s = 0; s < kSenders; ++s) {
        senders.push_back(Go([=] {
          for (int i = 0; i < count; ++i) ch.Send(i * kSenders + s);
        }));
      }
      std::array<int, kSenders> next{};
      for (int i = 0; i < kSenders * count; ++i) {
        const std::optional<int> v = ch.Recv();
        ASSERT_TRUE(v.has_value()) << flavour.name;
        ASSERT_EQ(*v / kSenders, next[static_cast<std::size_t>(*v % kSenders)]++) << flavour.name;
      }
      for (Task<void>& sender : senders) sender.Join();
      EXPECT_EQ(ch.len(), 0u) << flavour.name;
    }
  });
}

TEST_P(ChanTest, ManyToManyDeliversEachValueOnce) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      constexpr int kSides = 4;
      const int count = Rounds(5'000);
      auto ch = flavour.make();
      std::vector<Task<void>> senders;
      std::vector<Task<std::int64_t>> receivers;
      for (int s = 0; s < kSides; ++s) {
        senders.push_back(Go([=] {
          for (int i = 0; i < count; ++i) ch.Send(s * count + i);
        }));
        receivers.push_back(Go([ch] {
          std::int64_t sum = 0;
          for (int v : ch) sum += v;
          return sum;
        }));
      }
      for (Task<void>& sender : senders) sender.Join();
      ch.Close();
      std::int64_t sum = 0;
      for (auto& receiver : receivers) sum += receiver.Join();
      const std::int64_t all = std::int64_t{kSides} * count;
      EXPECT_EQ(sum, all * (all - 1) / 2) << flavour.name;
    }
  });
}

TEST_P(ChanTest, ServesWhoWaitsFirst) {
  Here([this] {
    if (workers() != 1) return;  // only there the order of parking is known
    auto ch = MakeChan<int>();
    std::vector<int> served;
    std::vector<Task<void>> receivers;
    for (int i = 0; i < 10; ++i) {
      receivers.push_back(Go([&served, ch, i] {
        if (ch.Recv().has_value()) served.push_back(i);
      }));
    }
    std::vector<int> order;
    // Newborns start newest first, so the order of waiting is learned by a second round.
    for (int i = 0; i < 10; ++i) Yield();
    for (int i = 0; i < 10; ++i) ch.Send(i);
    for (auto& receiver : receivers) receiver.Join();
    EXPECT_EQ(std::set<int>(served.begin(), served.end()).size(), 10u);

    // Those who wait to send are served in the order in which they came.
    std::vector<Task<void>> senders;
    for (int i = 0; i < 10; ++i) {
      auto started = MakeChan<Unit>(1);
      senders.push_back(Go([ch, i, started] {
        started.Send({});
        ch.Send(i);
      }));
      (void)started.Recv();
      Yield();  // on one worker: it goes on until it waits
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ch.Recv(), i);
    for (auto& sender : senders) sender.Join();
  });
}

// --- Closing.

TEST_P(ChanTest, CloseLetsTheBufferBeDrained) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      auto ch = flavour.make();
      int sent = 0;
      while (sent < 100 && ch.TrySend(sent)) ++sent;
      ch.Close();
      EXPECT_EQ(ch.len(), static_cast<std::size_t>(sent)) << flavour.name;
      for (int i = 0; i < sent; ++i) EXPECT_EQ(ch.Recv(), i) << flavour.name;
      for (int i = 0; i < 3; ++i) EXPECT_EQ(ch.Recv(), std::nullopt) << flavour.name;
      std::optional<int> v = 7;
      EXPECT_TRUE(ch.TryRecv(v)) << flavour.name;
      EXPECT_EQ(v, std::nullopt) << flavour.name;
      v = 7;
      EXPECT_TRUE(ch.RecvFor(absl::ZeroDuration(), v)) << flavour.name;
      EXPECT_EQ(v, std::nullopt) << flavour.name;
      v = 7;
      EXPECT_TRUE(ch.RecvFor(absl::InfiniteDuration(), v)) << flavour.name;
      EXPECT_EQ(v, std::nullopt) << flavour.name;
    }
  });
}

TEST_P(ChanTest, SendOnClosedThrowsAndLeavesTheValue) {
  Here([] {
    for (auto ch : {MakeChan<Counted>(), MakeChan<Counted>(1), MakeChan<Counted>(kUnbounded)}) {
      ch.Close();
      Counted value(1);
      EXPECT_THROW(ch.Send(std::move(value)), ClosedChannel);
      EXPECT_THROW((void)ch.TrySend(std::move(value)), ClosedChannel);
      EXPECT_THROW((void)ch.SendFor(absl::ZeroDuration(), std::move(value)), ClosedChannel);
      EXPECT_THROW((void)ch.SendFor(absl::Hours(1), std::move(value)), ClosedChannel);
      EXPECT_EQ(value.value(), 1);
      EXPECT_EQ(ch.len(), 0u);
    }
    EXPECT_EQ(Counted::live(), 0);
  });
}

TEST_P(ChanTest, ClosesOnce) {
  Here([] {
    auto ch = MakeChan<int>(1);
    ch.Close();
    EXPECT_THROW(ch.Close(), ClosedChannel);
    EXPECT_THROW(SendChan<int>(ch).Close(), ClosedChannel);
    EXPECT_EQ(ch.Recv(), std::nullopt);
  });
}

TEST_P(ChanTest, OfManyWhoCloseOneSucceeds) {
  Here([] {
    for (int round = 0; round < Rounds(200); ++round) {
      auto ch = MakeChan<int>();
      std::vector<Task<bool>> closers;
      for (int i = 0; i < 4; ++i) {
        closers.push_back(Go([ch] {
          try {
            ch.Close();
            return true;
          } catch (const ClosedChannel&) {
            return false;
          }
        }));
      }
      int closed = 0;
      for (auto& closer : closers) closed += closer.Join() ? 1 : 0;
      ASSERT_EQ(closed, 1);
    }
  });
}

// --- The try and timed forms.

TEST_P(ChanTest, TryLeavesTheValueWhenItFails) {
  Here([] {
    auto ch = MakeChan<Counted>();
    Counted value(5);
    EXPECT_FALSE(ch.TrySend(std::move(value)));
    EXPECT_FALSE(ch.SendFor(absl::ZeroDuration(), std::move(value)));
    EXPECT_FALSE(ch.SendFor(absl::Nanoseconds(1), std::move(value)));
    EXPECT_FALSE(ch.SendFor(-absl::InfiniteDuration(), std::move(value)));
    EXPECT_EQ(value.value(), 5);
    std::optional<Counted> out;
    EXPECT_FALSE(ch.TryRecv(out));
    EXPECT_FALSE(ch.RecvFor(absl::ZeroDuration(), out));
    EXPECT_FALSE(ch.RecvFor(absl::Nanoseconds(1), out));
    EXPECT_FALSE(ch.RecvFor(-absl::InfiniteDuration(), out));
    EXPECT_FALSE(out.has_value());
  });
}

TEST_P(ChanTest, FailedTryRecvEmptiesItsArgument) {
  Here([] {
    auto ch = MakeChan<Counted>();
    std::optional<Counted> out;
    out.emplace(1);
    EXPECT_FALSE(ch.TryRecv(out));
    EXPECT_FALSE(out.has_value());
    out.emplace(1);
    EXPECT_FALSE(ch.RecvFor(absl::ZeroDuration(), out));
    EXPECT_FALSE(out.has_value());
    EXPECT_EQ(Counted::live(), 0);
  });
}

// D7: a value that is there wins over a timeout that has passed.
TEST_P(ChanTest, ReadyWinsOverATimeoutThatHasPassed) {
  Here([] {
    auto ch = MakeChan<int>(1);
    std::optional<int> v;
    for (absl::Duration timeout : {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Seconds(-1),
                                   -absl::InfiniteDuration()}) {
      EXPECT_TRUE(ch.SendFor(timeout, 1));
      EXPECT_TRUE(ch.RecvFor(timeout, v));
      EXPECT_EQ(v, 1);
    }
  });
}

TEST_P(ChanTest, TimedFormsMeet) {
  Here([] {
    auto ch = MakeChan<int>();
    for (int i = 0; i < Rounds(2'000); ++i) {
      Task<bool> sender = Go([ch, i] { return ch.SendFor(absl::Hours(1), i); });
      std::optional<int> v;
      ASSERT_TRUE(ch.RecvFor(absl::InfiniteDuration(), v));
      ASSERT_EQ(v, i);
      ASSERT_TRUE(sender.Join());
    }
  });
}

// B3, B11: timeout and value arrive together; whatever happens, both sides agree.
TEST_P(ChanTest, TimeoutAgainstValueLosesNothing) {
  Here([] {
    for (auto ch : {MakeChan<Counted>(), MakeChan<Counted>(1)}) {
      int sent = 0;
      int received = 0;
      Task<int> sender = Go([ch] {
        int sent = 0;
        for (int i = 0; i < Rounds(3'000); ++i) {
          Counted value(i);
          if (ch.SendFor(absl::Microseconds(i % 20), std::move(value))) {
            EXPECT_TRUE(value.empty());
            ++sent;
          } else {
            EXPECT_EQ(value.value(), i);
          }
        }
        ch.Close();
        return sent;
      });
      int i = 0;
      for (;;) {
        std::optional<Counted> out;
        if (!ch.RecvFor(absl::Microseconds(i++ % 20), out)) continue;
        if (!out.has_value()) break;
        ++received;
      }
      sent = sender.Join();
      EXPECT_EQ(sent, received);
      EXPECT_EQ(Counted::live(), 0);
    }
  });
}

// --- Nil and moved-from handles.

TEST_P(ChanTest, NilThrows) {
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

TEST_P(ChanTest, NilErrorsNameTheCall) {
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

TEST_P(ChanTest, DirectionalEndsWork) {
  Here([] {
    auto ch = MakeChan<int>();
    Task<void> sender = Go(
        [](SendChan<int> out) {
          for (int i = 0; i < 10; ++i) out.Send(i);
          out.Close();
        },
        ch);
    int sum = 0;
    for (int v : RecvChan<int>(ch)) sum += v;
    EXPECT_EQ(sum, 45);
    sender.Join();
  });
}

// --- Ranges.

TEST_P(ChanTest, RangeForEndsAtClose) {
  Here([] {
    auto ch = MakeChan<std::unique_ptr<int>>(3);
    for (int i = 1; i <= 3; ++i) ch.Send(std::make_unique<int>(i));
    ch.Close();
    std::vector<int> seen;
    for (std::unique_ptr<int>& v : ch) {
      seen.push_back(*v);
      std::unique_ptr<int> taken = std::move(v);  // ours to take
    }
    EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
    for ([[maybe_unused]] auto& v : ch) ADD_FAILURE() << "closed and drained";
  });
}

TEST_P(ChanTest, LeavingARangeForLosesNothingButItsValue) {
  Here([] {
    auto ch = MakeChan<int>(3);
    for (int i = 1; i <= 3; ++i) ch.Send(i);
    for (int v : ch) {
      EXPECT_EQ(v, 1);
      break;
    }
    EXPECT_EQ(ch.len(), 2u);
    EXPECT_EQ(ch.Recv(), 2);
  });
}

// --- Element types.

template <class T>
class ElementTest : public testing::Test {};

struct Plain {
  int a;
};
struct NoDefault {
  explicit NoDefault(int v) : value(v) {}
  int value;
};
struct MoveOnly {
  explicit MoveOnly(int v) : value(std::make_unique<int>(v)) {}
  std::unique_ptr<int> value;
};
struct alignas(64) OverAligned {
  explicit OverAligned(int) { EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 64, 0u); }
  OverAligned(OverAligned&&) noexcept {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 64, 0u);
  }
};
struct Large {
  explicit Large(int v) : last(v) {}
  char bytes[(64 << 10) - sizeof(int)];
  int last;
};
struct ConstMember {
  explicit ConstMember(int v) : value(v) {}
  const int value;
};
struct Empty {
  explicit Empty(int) {}
};
struct Vexing {  // converts from and to anything
  explicit Vexing(int) {}
  template <class U>
  operator U() const = delete;
};
struct OverloadedAddress {
  explicit OverloadedAddress(int) {}
  OverloadedAddress* operator&() = delete;  // NOLINT(google-runtime-operator)
};
class Abstract {
 public:
  virtual ~Abstract() = default;
  virtual int Get() = 0;
};

template <class T>
T Make(int v) {
  if constexpr (std::is_constructible_v<T, int>) {
    return T(v);
  } else {
    return T();
  }
}
template <>
bool Make<bool>(int v) {
  return v % 2 != 0;
}
template <>
std::exception_ptr Make<std::exception_ptr>(int v) {
  return std::make_exception_ptr(v);
}
template <>
std::reference_wrapper<int> Make<std::reference_wrapper<int>>(int) {
  static int target = 0;
  return target;
}

using ElementTypes =
    testing::Types<int, bool, Plain, NoDefault, MoveOnly, OverAligned, Large, ConstMember,
                   std::exception_ptr, Empty, std::reference_wrapper<int>, Abstract*,
                   std::unique_ptr<Abstract>, std::function<void()>, std::optional<int>,
                   std::optional<std::optional<int>>, std::string, OverloadedAddress, Vexing, Unit>;
TYPED_TEST_SUITE(ElementTest, ElementTypes);

// C5. Each way to pass a value, from a fiber with the default stack: also 64 KiB fit.
TYPED_TEST(ElementTest, PassesThroughEveryKindOfChannel) {
  csp::Run(
      [] {
        for (auto ch : {MakeChan<TypeParam>(), MakeChan<TypeParam>(1), MakeChan<TypeParam>(3),
                        MakeChan<TypeParam>(kUnbounded)}) {
          Task<void> sender = Go({.stack_size = kAsan || kTsan ? 2 << 20 : 256 << 10}, [ch] {
            for (int i = 0; i < 20; ++i) ch.Send(Make<TypeParam>(i));
            EXPECT_TRUE(ch.SendFor(absl::InfiniteDuration(), Make<TypeParam>(20)));
            Select(ch.OnSend(Make<TypeParam>(21)));
            ch.Close();
          });
          Task<int> receiver = Go({.stack_size = kAsan || kTsan ? 2 << 20 : 256 << 10}, [ch] {
            int received = 0;
            EXPECT_TRUE(ch.Recv().has_value());
            {
              std::optional<TypeParam> v;
              EXPECT_TRUE(ch.RecvFor(absl::InfiniteDuration(), v));
              EXPECT_TRUE(v.has_value());
            }
            Select(ch.OnRecv() >>
                   [](const std::optional<TypeParam>& v) { EXPECT_TRUE(v.has_value()); });
            for ([[maybe_unused]] TypeParam& v : ch) ++received;
            return received + 3;
          });
          EXPECT_EQ(receiver.Join(), 22);
          sender.Join();
        }
      },
      {.workers = 2});
}

TEST(ChanElementTest, LargeValuesFitOnADefaultStack) {
  csp::Run(
      [] {
        auto ch = MakeChan<Large>(kUnbounded);
        auto value = std::make_unique<Large>(7);
        for (int i = 0; i < 4; ++i) ch.Send(std::move(*value));
        ch.Close();
        Go([ch] {
          int sum = 0;
          for (const Large& v : ch) sum += v.last;  // one value's place, no more
          return sum;
        }).Join();
        auto again = MakeChan<Large>();
        Task<void> sender = Go([again, &value] { again.Send(std::move(*value)); });
        Task<int> receiver = Go([again] {
          const std::optional<Large> v = again.Recv();
          return v->last;
        });
        EXPECT_EQ(receiver.Join(), 7);
        sender.Join();
      },
      {.workers = 1});
}

// R1.
TEST_P(ChanTest, EmptyStructsAndBoolsByTheMillion) {
  Here([] {
    const int count = Rounds(1'000'000);
    auto empties = MakeChan<Unit>(static_cast<std::size_t>(count));
    auto bools = MakeChan<bool>(kUnbounded);
    for (int i = 0; i < count; ++i) {
      empties.Send({});
      bools.Send(i % 3 == 0);
    }
    EXPECT_FALSE(empties.TrySend({}));
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(empties.Recv().has_value());
      ASSERT_EQ(bools.Recv(), i % 3 == 0);
    }
  });
}

// M1: made on one kind of thread, used on the other.
TEST_P(ChanTest, PlainThreadsAndFibersMeet) {
  Here([] {
    for (const Flavour& flavour : kFlavours) {
      auto to_thread = flavour.make();
      auto to_fiber = flavour.make();
      const int count = Rounds(2'000);
      std::thread thread([&] {
        for (int v : to_thread) to_fiber.Send(v + 1);
        to_fiber.Close();
      });
      Task<void> feeder = Go([=] {
        for (int i = 0; i < count; ++i) to_thread.Send(i);
        to_thread.Close();
      });
      int expected = 1;
      for (int v : to_fiber) ASSERT_EQ(v, expected++) << flavour.name;
      EXPECT_EQ(expected, count + 1) << flavour.name;
      feeder.Join();
      thread.join();
    }
  });
}

// C8: a channel whose last handle dies in a static.
Chan<std::unique_ptr<int>>& StaticChannel() {
  static auto channel = MakeChan<std::unique_ptr<int>>(1);
  return channel;
}
TEST(ChanHandleTest, LastHandleMayBeStatic) { StaticChannel().Send(std::make_unique<int>(1)); }

}  // namespace
}  // namespace csp
