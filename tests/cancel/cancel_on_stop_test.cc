// From std::stop_token to CancelSource.
#include "csp/cancel/cancel_on_stop.h"

#include <memory>
#include <optional>
#include <thread>

#include "csp/task/go.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using CancelOnStopTest = RuntimeTest;
CSP_INSTANTIATE(CancelOnStopTest);

TEST_P(CancelOnStopTest, CancelsTheSource) {
  Here([] {
    std::stop_source stop;
    const CancelSource source;
    const CancelOnStop link(stop.get_token(), source);
    Task<void> waiter = Go([token = source.token()] { token.Wait(); });
    EXPECT_FALSE(source.cancelled());
    stop.request_stop();
    EXPECT_TRUE(absl::IsCancelled(source.token().cause()));
    waiter.Join();
  });
}

TEST_P(CancelOnStopTest, WithACause) {
  Here([] {
    std::stop_source stop;
    const CancelSource source;
    const CancelOnStop link(stop.get_token(), source, absl::AbortedError("stopped"));
    stop.request_stop();
    EXPECT_EQ(source.token().cause(), absl::AbortedError("stopped"));
  });
}

TEST_P(CancelOnStopTest, OkIsNoCause) {
  Here([] {
    std::stop_source stop;
    const CancelSource source;
    const CancelOnStop link(stop.get_token(), source, absl::OkStatus());
    stop.request_stop();
    EXPECT_TRUE(absl::IsCancelled(source.token().cause()));
  });
}

TEST_P(CancelOnStopTest, AtOnceIfStoppedBefore) {
  Here([] {
    std::stop_source stop;
    stop.request_stop();
    const CancelSource source;
    const CancelOnStop link(stop.get_token(), source);
    EXPECT_TRUE(source.cancelled());
  });
}

TEST_P(CancelOnStopTest, NotAfterTheLinkHasGone) {
  Here([] {
    std::stop_source stop;
    const CancelSource source;
    { const CancelOnStop link(stop.get_token(), source); }
    stop.request_stop();
    EXPECT_FALSE(source.cancelled());
  });
}

TEST_P(CancelOnStopTest, TheSourceMayGoFirst) {
  Here([] {
    std::stop_source stop;
    std::optional<CancelSource> source(std::in_place);
    const CancelToken token = source->token();
    const CancelOnStop link(stop.get_token(), *source);
    source.reset();
    stop.request_stop();
    EXPECT_TRUE(token.cancelled());
  });
}

TEST_P(CancelOnStopTest, FromAThread) {
  Here([] {
    for (int i = 0; i < Rounds(50); ++i) {
      const CancelSource source;
      std::jthread thread([&source](std::stop_token stop) {
        const CancelOnStop link(std::move(stop), source);
        source.token().Wait();
      });
      thread.request_stop();
      source.token().Wait();
    }
  });
}

}  // namespace
}  // namespace csp
