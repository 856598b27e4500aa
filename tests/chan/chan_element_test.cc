// Element types of every kind pass through every kind of channel.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "csp/chan/chan.h"
#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

// --- Types that are not complete where their channels are declared.

// An answer goes where the call says: Go's `type Call struct { answer chan Call }`.
struct Call {
  int number;
  SendChan<Call> answer;
  Chan<Call> next = {};
};

class Job;
struct Server {
  Chan<Job> jobs;
  RecvChan<Job> in;
  SendChan<Job> out;
};
class Job {
 public:
  explicit Job(int number) : number_(number) {}
  int number() const { return number_; }

 private:
  const int number_;
};

using RecursiveElementTest = RuntimeTest;
CSP_INSTANTIATE(RecursiveElementTest);

TEST_P(RecursiveElementTest, AMessageCarriesAChannelOfItsOwnType) {
  Here([] {
    auto calls = MakeChan<Call>();
    Task<void> server = Go([calls] {
      for (Call& call : calls) {
        SendChan<Call> answer = call.answer;
        answer.Send({call.number + 1, call.answer});
      }
    });
    auto answers = MakeChan<Call>(1);
    for (int i = 0; i < 10; ++i) {
      if (i % 2 == 0) {
        calls.Send({i, answers});
      } else {
        Select(calls.OnSend(Call{i, answers}));
      }
      ASSERT_EQ(answers.Recv()->number, i + 1);
    }
    calls.Close();
    server.Join();
  });
}

// Channels that hang on each other are destroyed one from within the other.
TEST_P(RecursiveElementTest, AChainOfChannelsIsDestroyedWithItsHead) {
  Here([] {
    auto head = MakeChan<Call>(1);
    auto last = head;
    for (int i = 0; i < 100; ++i) {
      auto next = MakeChan<Call>(1);
      last.Send({i, next, next});
      last = next;
    }
    for (int i = 0; i < 50; ++i) {
      Call call = *head.Recv();
      EXPECT_EQ(call.number, i);
      EXPECT_EQ(call.answer, call.next);
      head = call.next;
    }
  });
}

TEST_P(RecursiveElementTest, AMemberChannelOfATypeDeclaredElsewhere) {
  Here([] {
    Server server;
    EXPECT_TRUE(server.jobs.is_nil());
    server.jobs = MakeChan<Job>(1);
    server.in = server.jobs;
    server.out = server.jobs;
    const Server copy = server;
    copy.out.Send(Job(3));
    EXPECT_EQ(server.in.Recv()->number(), 3);
  });
}

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

TEST(LargeElementTest, FitsOnADefaultStack) {
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

using ChanElementTest = RuntimeTest;
CSP_INSTANTIATE(ChanElementTest);

// R1.
TEST_P(ChanElementTest, EmptyStructsAndBoolsByTheMillion) {
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

}  // namespace
}  // namespace csp
