// Which operations wait for ever, which not at all, on nil, empty, full and closed channels?

#include <functional>
#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using SelectBlocksTest = RuntimeTest;
CSP_INSTANTIATE(SelectBlocksTest);

// True if `operation` still waits when everything else has had its turn many times. (It cannot be
// waited for what does not happen; a wrong "waits" would be seen by the other tests.)
bool Waits(const std::function<void()>& operation) {
  Task<void> task = Go(operation);
  for (int i = 0; i < 200 && !task.done(); ++i) Yield();
  const bool waits = !task.done();
  task.Cancel();
  try {
    task.Join();
  } catch (const TaskCancelled&) {
    EXPECT_TRUE(waits);
  }
  return waits;
}

constexpr auto kIgnore = [](const auto&...) {};

TEST_P(SelectBlocksTest, Receives) {
  Here([] {
    auto empty = MakeChan<int>(1), unbuffered = MakeChan<int>(), full = MakeChan<int>(1),
         closed = MakeChan<int>();
    full.Send(1);
    closed.Close();
    EXPECT_TRUE(Waits([&] { (void)empty.Recv(); }));
    EXPECT_TRUE(Waits([&] { (void)unbuffered.Recv(); }));
    EXPECT_TRUE(Waits([&] { Select(empty.OnRecv() >> kIgnore); }));
    EXPECT_TRUE(Waits([&] { Select(empty.OnRecv(), unbuffered.OnRecv()); }));
    EXPECT_EQ(closed.Recv(), std::nullopt);
    EXPECT_EQ(Select(closed.OnRecv(), empty.OnRecv()), std::nullopt);
    EXPECT_EQ(Select(full.OnRecv(), empty.OnRecv()), 1);
  });
}

TEST_P(SelectBlocksTest, Sends) {
  Here([] {
    auto empty = MakeChan<int>(1), unbuffered = MakeChan<int>(), full = MakeChan<int>(1);
    full.Send(1);
    EXPECT_TRUE(Waits([&] { full.Send(2); }));
    EXPECT_TRUE(Waits([&] { unbuffered.Send(2); }));
    EXPECT_TRUE(Waits([&] { Select(full.OnSend(2), unbuffered.OnSend(2)); }));
    Select(empty.OnSend(2), full.OnSend(2));
    EXPECT_EQ(empty.Recv(), 2);
    EXPECT_EQ(full.len(), 1u);
  });
}

// A nil channel in a select is as good as not there.
TEST_P(SelectBlocksTest, Nil) {
  Here([] {
    Chan<int> nil;
    auto empty = MakeChan<int>(1), closed = MakeChan<int>();
    closed.Close();
    EXPECT_TRUE(Waits([&] { Select(nil.OnRecv() >> kIgnore, empty.OnRecv() >> kIgnore); }));
    EXPECT_TRUE(Waits([&] { Select(nil.OnSend(1), empty.OnRecv() >> kIgnore); }));
    EXPECT_EQ(Select(nil.OnRecv(), closed.OnRecv()), std::nullopt);
    bool none = false;
    Select(
        nil.OnRecv() >> kIgnore, nil.OnSend(1), Default >> [&] { none = true; });
    EXPECT_TRUE(none);
  });
}

}  // namespace
}  // namespace csp
