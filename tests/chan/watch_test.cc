// Watch: readers wait for what is newer than what they have seen, and get the latest.

#include "csp/chan/watch.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using WatchTest = RuntimeTest;
CSP_INSTANTIATE(WatchTest);

template <class T>
void ExpectSeen(WatchReader<T>& reader) {
  std::optional<T> out = reader.Get();
  EXPECT_FALSE(reader.TryNext(out));
  EXPECT_FALSE(out.has_value());
}

TEST_P(WatchTest, GivesTheLatest) {
  Here([] {
    const auto watch = MakeWatch(1);
    EXPECT_EQ(watch.Get(), 1);
    for (int i = 2; i <= 5; ++i) watch.Set(i);
    EXPECT_EQ(watch.Get(), 5);
    EXPECT_EQ(watch.Get(), 5);
  });
}

TEST_P(WatchTest, AReaderGetsWhatItHasNotSeen) {
  Here([] {
    const auto watch = MakeWatch(1);
    WatchReader<int> reader = watch.Subscribe();
    EXPECT_EQ(reader.Next(), 1);  // has seen nothing
    ExpectSeen(reader);
    for (int i = 2; i <= 5; ++i) watch.Set(i);
    EXPECT_EQ(reader.Next(), 5);  // not those in between
    ExpectSeen(reader);
    watch.Set(5);  // equal, and yet a change
    EXPECT_EQ(reader.Next(), 5);
    watch.Set(6);
    EXPECT_EQ(reader.Get(), 6);  // counts as seen
    ExpectSeen(reader);
    EXPECT_EQ(watch.Subscribe().Next(), 6);
  });
}

TEST_P(WatchTest, ACopyOfAReaderHasSeenTheSame) {
  Here([] {
    const auto watch = MakeWatch(1);
    WatchReader<int> reader = watch.Subscribe();
    WatchReader<int> fresh = reader;
    (void)reader.Next();
    WatchReader<int> copy = reader;
    ExpectSeen(copy);
    EXPECT_EQ(fresh.Next(), 1);
    watch.Set(2);
    EXPECT_EQ(reader.Next(), 2);
    EXPECT_EQ(copy.Next(), 2);
  });
}

// Values only grow, and everybody sees the last one.
TEST_P(WatchTest, NobodyMissesTheLast) {
  Here([] {
    const int count = Rounds(20'000);
    const auto watch = MakeWatch(0);
    const auto read = [count](WatchReader<int> reader, int way) {
      int last = -1;
      for (int round = 0;; ++round) {
        std::optional<int> now;
        switch ((round + way) % 4) {
          case 0:
            now = reader.Next();
            break;
          case 1:
            if (!reader.TryNext(now)) continue;
            break;
          case 2:
            if (!reader.NextFor(absl::Microseconds(round % 50), now)) continue;
            break;
          default:
            now = Select(
                reader.OnChange() >> [](std::optional<int> v) { return v; },
                OnTimeout(absl::Hours(1)) >> []() -> std::optional<int> { return -1; });
        }
        if (!now) break;
        EXPECT_GT(*now, last);
        last = *now;
      }
      EXPECT_EQ(last, count);
    };
    std::vector<Task<void>> readers;
    for (int way = 0; way < 4; ++way) readers.push_back(Go(read, watch.Subscribe(), way));
    std::thread thread(read, watch.Subscribe(), 0);
    for (int i = 1; i <= count; ++i) {
      watch.Set(i);
      if (i % 16 == 0) Yield();
    }
    watch.Close();
    for (Task<void>& reader : readers) reader.Join();
    thread.join();
  });
}

TEST_P(WatchTest, CloseLeavesTheLastValue) {
  Here([] {
    const auto watch = MakeWatch<std::string>("a");
    WatchReader<std::string> seen = watch.Subscribe();
    WatchReader<std::string> behind = watch.Subscribe();
    (void)seen.Next();
    Task<bool> waiter = Go([seen]() mutable { return !seen.Next(); });
    watch.Close();
    EXPECT_TRUE(waiter.Join());
    EXPECT_EQ(behind.Next(), "a");
    for (WatchReader<std::string> reader : {seen, behind}) {
      EXPECT_EQ(reader.Next(), std::nullopt);
      std::optional<std::string> out = "x";
      EXPECT_TRUE(reader.TryNext(out));
      EXPECT_EQ(out, std::nullopt);
      out = "x";
      EXPECT_TRUE(reader.NextFor(absl::InfiniteDuration(), out));
      EXPECT_EQ(out, std::nullopt);
      EXPECT_EQ(Select(reader.OnChange()), std::nullopt);
      EXPECT_EQ(reader.Get(), "a");
    }
    EXPECT_EQ(watch.Get(), "a");
    std::string value = "a value that is too long to be stored in place";
    EXPECT_THROW(watch.Set(std::move(value)), ClosedChannel);
    EXPECT_EQ(value.size(), 46u);
    EXPECT_THROW(watch.Close(), ClosedChannel);
  });
}

TEST_P(WatchTest, NilThrows) {
  Here([] {
    auto moved_from = MakeWatch(1);
    const Watch<int> moved_to = std::move(moved_from);
    EXPECT_FALSE(moved_to.is_nil());
    for (const Watch<int>& nil : {Watch<int>(), moved_from}) {  // NOLINT(bugprone-use-after-move)
      EXPECT_TRUE(nil.is_nil());
      EXPECT_THROW(nil.Set(1), NilChannel);
      EXPECT_THROW((void)nil.Get(), NilChannel);
      EXPECT_THROW(nil.Close(), NilChannel);
      EXPECT_THROW((void)nil.Subscribe(), NilChannel);
    }
    WatchReader<int> nil;
    std::optional<int> out = 7;
    EXPECT_THROW(nil.Next(), NilChannel);
    EXPECT_THROW((void)nil.TryNext(out), NilChannel);
    EXPECT_THROW((void)nil.NextFor(absl::ZeroDuration(), out), NilChannel);
    EXPECT_THROW((void)nil.Get(), NilChannel);
    EXPECT_EQ(out, 7);
    EXPECT_THROW(Select(nil.OnChange()), NoLiveCase);
    try {
      Watch<int>().Set(1);
      ADD_FAILURE();
    } catch (const NilChannel& e) {
      EXPECT_EQ(std::string(e.what()).find("Watch::Set: "), 0u) << e.what();
      EXPECT_NE(std::string(e.what()).find("MakeWatch"), std::string::npos) << e.what();
    }
  });
}

TEST(WatchHandleTest, ComparesByChannel) {
  const auto a = MakeWatch(1);
  const auto b = MakeWatch(1);
  const auto copy = a;
  EXPECT_EQ(a, copy);
  EXPECT_NE(a, b);
  EXPECT_NE(a, Watch<int>());
}

struct Recursive {
  Watch<Recursive> watch;
  WatchReader<Recursive> reader;
};
static_assert(std::is_copy_constructible_v<Recursive>);

TEST_P(WatchTest, ALimitInTime) {
  Here([] {
    const auto watch = MakeWatch(1);
    WatchReader<int> reader = watch.Subscribe();
    std::optional<int> out;
    EXPECT_TRUE(reader.NextFor(-absl::Hours(1), out));
    EXPECT_EQ(out, 1);
    EXPECT_FALSE(reader.NextFor(absl::ZeroDuration(), out));
    EXPECT_EQ(out, std::nullopt);
    EXPECT_FALSE(reader.NextFor(absl::Microseconds(100), out));
    Task<void> setter = Go([watch] { watch.Set(2); });
    EXPECT_TRUE(reader.NextFor(absl::InfiniteDuration(), out));
    EXPECT_EQ(out, 2);
    setter.Join();
  });
}

TEST_P(WatchTest, InASelectALoserHasSeenNothing) {
  Here([] {
    const auto watch = MakeWatch(0);
    WatchReader<int> reader = watch.Subscribe();
    const auto ch = MakeChan<int>(1);
    int seen = -1;
    for (int round = 0; round < 50; ++round) {
      watch.Set(round);
      ch.Send(round);
      bool changed = false;
      Select(
          reader.OnChange() >>
              [&](std::optional<int> now) {
                seen = *now;
                changed = true;
              },
          ch.OnRecv() >> [](std::optional<int>) {});
      std::optional<int> left;
      EXPECT_NE(reader.TryNext(left), changed);
      EXPECT_EQ(left.value_or(seen), round);
      (void)ch.TryRecv(left);
    }
    Select(
        reader.OnChange() >> [](std::optional<int>) { ADD_FAILURE(); }, Default);
  });
}

TEST_P(WatchTest, ADumpSaysWhoWaits) {
  Here([] {
    const auto watch = MakeWatch(0);
    Task<void> task = Go([reader = watch.Subscribe()]() mutable {
      while (reader.Next()) {
      }
    });
    EXPECT_TRUE(EventuallyTrue(
        [] { return DumpFibers().find("parked in watch Next on 0x") != std::string::npos; }));
    watch.Close();
    task.Join();
  });
}

TEST_P(WatchTest, CommitBeatsCancel) {
  Here([] {
    for (int round = 0; round < Rounds(500); ++round) {
      const auto watch = MakeWatch(0);
      WatchReader<int> reader = watch.Subscribe();
      (void)reader.Get();
      bool got = false;
      Task<void> task = Go([&] { got = reader.Next().has_value(); });
      for (int i = 0; i < round % 5; ++i) Yield();
      Task<void> setter = Go([&] { watch.Set(1); });
      task.Cancel();
      setter.Join();
      try {
        task.Join();
      } catch (const TaskCancelled&) {
      }
      std::optional<int> left;
      EXPECT_NE(reader.TryNext(left), got);
    }
  });
}

TEST_P(WatchTest, WhatCannotBeCopiedIsShared) {
  Here([] {
    using Shared = std::shared_ptr<const std::unique_ptr<int>>;
    const auto make = [](int i) {
      return std::make_shared<const std::unique_ptr<int>>(std::make_unique<int>(i));
    };
    const auto watch = MakeWatch<Shared>(make(1));
    const Shared old = watch.Get();
    watch.Set(make(2));
    EXPECT_EQ(**old, 1);  // lives as long as somebody has it
    EXPECT_EQ(old.use_count(), 1);
    EXPECT_EQ(**watch.Get(), 2);
  });
}

// Whoever sees a version sees what was done before it was set.
TEST_P(WatchTest, PublishesWhatWasDoneBefore) {
  Here([] {
    const int count = Rounds(2'000);
    std::vector<int> data(static_cast<std::size_t>(count) + 1);
    const auto watch = MakeWatch(0);
    Task<void> reader = Go([&, reader = watch.Subscribe()]() mutable {
      while (std::optional<int> now = reader.Next()) {
        for (int i = 1; i <= *now; i += 97) EXPECT_EQ(data[static_cast<std::size_t>(i)], i);
      }
    });
    for (int i = 1; i <= count; ++i) {
      data[static_cast<std::size_t>(i)] = i;
      watch.Set(i);
    }
    watch.Close();
    reader.Join();
  });
}

}  // namespace
}  // namespace csp
