// Do the forms that do not wait see a partner, a place or a value that is there, and only then?

#include <cstdint>
#include <optional>
#include <string>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using NonblockTest = RuntimeTest;
CSP_INSTANTIATE(NonblockTest);

template <class T>
bool SelectRecv(const Chan<T>& ch, std::optional<T>& out) {
  return Select(
      ch.OnRecv() >>
          [&](std::optional<T> v) {
            out = std::move(v);
            return true;
          },
      Default >> [] { return false; });
}
template <class T>
bool SelectSend(const Chan<T>& ch, T value) {
  return Select(
      ch.OnSend(std::move(value)) >> [] { return true; }, Default >> [] { return false; });
}

template <class T>
void CheckType(T value) {
  for (std::size_t capacity : {0, 1}) {
    auto ch = MakeChan<T>(capacity);
    std::optional<T> v;
    EXPECT_FALSE(ch.TryRecv(v));
    EXPECT_FALSE(SelectRecv(ch, v));
    if (capacity == 0) {
      EXPECT_FALSE(ch.TrySend(value));
      EXPECT_FALSE(SelectSend(ch, value));
      // A partner comes some time; then, and not before, it succeeds.
      Task<void> sender = Go([=] { ch.Send(value); });
      EXPECT_TRUE(EventuallyTrue([&] { return SelectRecv(ch, v); }));
      EXPECT_EQ(v, value);
      sender.Join();
      Task<bool> receiver = Go([=] { return ch.Recv() == value; });
      EXPECT_TRUE(EventuallyTrue([&] { return ch.TrySend(value); }));
      EXPECT_TRUE(receiver.Join());
    } else {
      EXPECT_TRUE(SelectSend(ch, value));
      EXPECT_FALSE(SelectSend(ch, value));
      EXPECT_FALSE(ch.TrySend(value));
      EXPECT_TRUE(ch.TryRecv(v));
      EXPECT_EQ(v, value);
      EXPECT_FALSE(SelectRecv(ch, v));
    }
  }
}

TEST_P(NonblockTest, OfSeveralTypes) {
  Here([] {
    CheckType<std::int32_t>(123);
    CheckType<std::int64_t>(0x1234567890);
    CheckType<bool>(true);
    CheckType<std::string>("hello");
  });
}

}  // namespace
}  // namespace csp
