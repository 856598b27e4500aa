// What a Broadcast does with its values: who copies, moves and destroys them, and when.

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/chan/next.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using BroadcastValueTest = RuntimeTest;
CSP_INSTANTIATE(BroadcastValueTest);

// Counts the living; copies may throw, and call a function of the test's.
class Value {
 public:
  explicit Value(int number) : number_(number) { ++live_; }
  Value(const Value& other) : number_(other.number_) {
    CallHook();
    if (throw_on_copy) throw std::runtime_error("no copy");
    ++live_;
  }
  Value(Value&& other) noexcept : number_(std::exchange(other.number_, -1)) { ++live_; }
  Value& operator=(const Value&) = delete;
  ~Value() {
    if (number_ >= 0) CallHook();
    --live_;
  }

  int number() const { return number_; }
  static int live() { return live_.load(); }

  static inline bool throw_on_copy = false;
  static inline std::function<void()> hook;

 private:
  static void CallHook() {
    if (!hook) return;
    const std::function<void()> call = std::exchange(hook, nullptr);  // not within itself
    call();
    hook = call;
  }

  static inline std::atomic<int> live_{0};
  int number_;
};

TEST_P(BroadcastValueTest, AnOverwrittenValueIsDestroyed) {
  Here([] {
    {
      auto ch = MakeBroadcast<Value>(3);
      for (int i = 0; i < 10; ++i) {
        ch.Send(Value(i));
        EXPECT_EQ(Value::live(), std::min(i + 1, 3));
      }
      BroadcastReader<Value> reader = ch.Subscribe();
      ch.Close();
      ch = {};
      EXPECT_EQ(Value::live(), 3);  // the reader keeps the channel
    }
    EXPECT_EQ(Value::live(), 0);
  });
}

TEST_P(BroadcastValueTest, AValueWhoseCopyThrowsIsStillToBeHad) {
  Here([] {
    const auto ch = MakeBroadcast<Value>(1);
    BroadcastReader<Value> reader = ch.Subscribe();
    ch.Send(Value(0));
    ch.Send(Value(1));
    Value::throw_on_copy = true;
    std::optional<Delivery<Value>> got;
    EXPECT_THROW(reader.Recv(), std::runtime_error);
    EXPECT_THROW((void)reader.TryRecv(got), std::runtime_error);
    EXPECT_THROW((void)reader.RecvFor(absl::Hours(1), got), std::runtime_error);
    EXPECT_THROW(Select(reader.OnRecv()), std::runtime_error);
    const Value lvalue(2);
    EXPECT_THROW(ch.Send(lvalue), std::runtime_error);
    Value::throw_on_copy = false;
    EXPECT_TRUE(reader.TryRecv(got));
    EXPECT_EQ(got->value.number(), 1);
    EXPECT_EQ(got->missed, 1u);
  });
  EXPECT_EQ(Value::live(), 0);
}

// Copies and destructors use the very channel: nothing is locked then.
TEST_P(BroadcastValueTest, CopiesAndDestructorsMayUseTheChannel) {
  Here([] {
    const auto ch = MakeBroadcast<Value>(1);
    BroadcastReader<Value> reader = ch.Subscribe();
    ch.Send(Value(0));
    int calls = 0;
    Value::hook = [&] {
      ch.Send(Value(++calls));
      std::optional<Delivery<Value>> got;
      BroadcastReader<Value> other = reader;
      EXPECT_TRUE(other.TryRecv(got));
    };
    ch.Send(Value(100));  // overwrites, and so destroys, 0
    EXPECT_EQ(calls, 1);
    {
      // While it is copied the value is overwritten, and destroyed after the copy.
      const std::optional<Delivery<Value>> got = reader.Recv();
      EXPECT_EQ(got->value.number(), 1);
      EXPECT_GE(calls, 2);
      Value::hook = nullptr;
    }
    const int sent = calls;
    EXPECT_EQ(Next(reader).value.number(), sent);
  });
  EXPECT_EQ(Value::live(), 0);
}

TEST_P(BroadcastValueTest, SharedValuesAreNotCopied) {
  Here([] {
    using Shared = std::shared_ptr<const std::unique_ptr<int>>;  // of what cannot be copied
    const auto ch = MakeBroadcast<Shared>(1);
    BroadcastReader<Shared> a = ch.Subscribe();
    BroadcastReader<Shared> b = ch.Subscribe();
    ch.Send(std::make_shared<const std::unique_ptr<int>>(std::make_unique<int>(1)));
    EXPECT_EQ(Next(a).value, Next(b).value);
  });
}

}  // namespace
}  // namespace csp
