// What the cases of a channel are apart from the verbs: what they ask of it, what they leave alone.
#include "csp/chan/cases.h"

#include <memory>
#include <optional>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

// A summary is kept for selects, and from the first one on every operation pays for it.
TEST(CasesTest, AWaitOfItsOwnNeedsNoSummary) {
  internal::Core<int> core(0);
  int value = 1;
  std::optional<int> out;
  const internal::TimedSend<int> send(core, value);
  const internal::TimedRecv<int> receive(core, out);
  EXPECT_EQ(send.summary(), nullptr);
  EXPECT_EQ(receive.summary(), nullptr);
}

TEST(CasesTest, AnEventOfASelectHasOne) {
  const auto ch = MakeChan<int>();
  const auto send = ch.OnSend(1);
  const auto receive = ch.OnRecv();
  EXPECT_NE(send.summary(), nullptr);
  EXPECT_EQ(receive.summary(), send.summary());
}

using CasesFiberTest = RuntimeTest;
CSP_INSTANTIATE(CasesFiberTest);

TEST_P(CasesFiberTest, AReceiveThatThrowsAtOnceLeavesWhatIsThere) {
  Here([] {
    const Chan<std::unique_ptr<int>> nil;
    const auto ch = MakeChan<std::unique_ptr<int>>(1);
    ch.Send(std::make_unique<int>(2));
    auto out = std::make_optional(std::make_unique<int>(1));
    EXPECT_THROW((void)nil.TryRecv(out), NilChannel);
    EXPECT_THROW((void)nil.RecvFor(absl::Seconds(1), out), NilChannel);
    EXPECT_EQ(**out, 1);

    Event begun;
    Task<void> task = Go([&] {
      begun.Set();
      EXPECT_THROW(csp::SleepFor(absl::InfiniteDuration()), Cancelled);
      EXPECT_THROW((void)ch.RecvFor(absl::Seconds(1), out), Cancelled);
      EXPECT_EQ(**out, 1);
    });
    begun.Wait();
    task.Cancel();
    task.Join();
    EXPECT_TRUE(ch.RecvFor(absl::ZeroDuration(), out));
    EXPECT_EQ(**out, 2);
  });
}

TEST_P(CasesFiberTest, ATimedSendSaysWhatBecameOfIt) {
  Here([] {
    const auto ch = MakeChan<std::unique_ptr<int>>();
    auto value = std::make_unique<int>(1);
    EXPECT_FALSE(ch.SendFor(absl::Milliseconds(1), std::move(value)));
    EXPECT_NE(value, nullptr);
    Task<void> receiver = Go([ch] { EXPECT_EQ(**ch.Recv(), 1); });
    EXPECT_TRUE(ch.SendFor(absl::InfiniteDuration(), std::move(value)));
    EXPECT_EQ(value, nullptr);
    receiver.Join();
    value = std::make_unique<int>(2);
    Task<void> closer = Go([ch] { ch.Close(); });
    EXPECT_THROW((void)ch.SendFor(absl::InfiniteDuration(), std::move(value)), ClosedChannel);
    EXPECT_EQ(*value, 2);
    closer.Join();
  });
}

}  // namespace
}  // namespace csp
