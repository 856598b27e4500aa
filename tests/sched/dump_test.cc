#include "csp/sched/dump.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "csp/task/blocking_call.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using testing::ContainsRegex;

// The dump, once it says so.
std::string DumpThatSays(const std::string& text) {
  std::string dump;
  EXPECT_TRUE(EventuallyTrue([&] { return (dump = DumpFibers()).find(text) != std::string::npos; }))
      << "looked for " << text << " in\n"
      << dump;
  return dump;
}

// Not in an anonymous namespace and not inlined: a symbol that can be found.
}  // namespace

[[gnu::noinline]] Task<void> SpawnedHereByName(Event& gate) {
  return Go({.name = "with a name"}, [&] { gate.Wait(); });
}

namespace {

using DumpTest = RuntimeTest;
CSP_INSTANTIATE(DumpTest);

TEST_P(DumpTest, NamesFibersAndWhatTheyWaitFor) {
  Here([] {
    Event gate;
    const Chan<int> ch = MakeChan<int>();
    Task<void> named = SpawnedHereByName(gate);
    Task<void> receiver = Go({.name = "receiver"}, [&] { ch.Recv(); });
    Task<void> sleeper = Go({.name = "sleeper"}, [] { SleepFor(absl::Hours(1)); });
    Task<void> selecting =
        Go({.name = "selecting"}, [&] { Select(gate.OnWait(), OnTimeout(absl::Hours(1))); });
    Task<void> joiner = Go({.name = "joiner", .stack_size = 20'000}, [&] { named.Join(); });
    const std::string number = std::to_string(named.number());

    (void)DumpThatSays("\"receiver\" parked in chan Recv on 0x");
    (void)DumpThatSays("\"sleeper\" parked in time Sleep for ");
    (void)DumpThatSays("\"selecting\" parked in select Select for ");
    (void)DumpThatSays("\"joiner\" parked in task Join on 0x");
    const std::string dump =
        DumpThatSays("fiber " + number + " \"with a name\" parked in event Wait");
    EXPECT_THAT(dump, ContainsRegex("\"joiner\" [^\n]*, stack 32 KiB"));
    EXPECT_THAT(
        dump,
        ContainsRegex("\"with a name\" [^\n]* for [0-9.]{1,4}[mun]?s, stack 128 KiB, "
                      "spawned at [^\n]*SpawnedHereByName[^\n]* \\(dump_test\\+0x[0-9a-f]+\\)\n"));

    sleeper.Cancel();
    EXPECT_THROW(sleeper.Join(), TaskCancelled);
    ch.Send(1);
    gate.Set();
    joiner.Join();
    for (Task<void>* task : {&receiver, &selecting}) task->Join();
    // Join returns when a task has ended, a moment before its fiber has.
    EXPECT_TRUE(EventuallyTrue([] {
      return !testing::Value(DumpFibers(),
                             ContainsRegex("with a name|receiver|sleeper|selecting|joiner"));
    })) << DumpFibers();
  });
}

TEST(DumpOfNewbornsTest, NamesTasksThatHaveNotStarted) {
  csp::Run(
      [] {
        Task<void> task = Go({.name = "unborn"}, [] {});
        EXPECT_THAT(DumpFibers(), ContainsRegex("task [0-9]+ \"unborn\" not started, spawned at"));
        Task<void> pinned = Go({.name = "pinned", .pinned = true}, [] {});
        EXPECT_THAT(DumpFibers(), ContainsRegex("task [0-9]+ \"pinned\" not started"));
        EXPECT_THAT(DumpFibers(), ContainsRegex("fiber [0-9]+ \"main\" running or ready"));
        task.Join();
        pinned.Join();
      },
      {.workers = 1});
}

TEST_P(DumpTest, NamesPlainThreadsThatWait) {
  Here([] {
    const Chan<int> ch = MakeChan<int>();
    Task<void> thread = BlockingDetached([ch] { ch.Recv(); });
    EXPECT_THAT(DumpThatSays("parked in chan Recv"),
                ContainsRegex("thread [0-9]+ parked in chan Recv on 0x"));
    ch.Send(1);
    thread.Join();
  });
}

// At any time, from anywhere, whatever goes on.
TEST_P(DumpTest, UnderLoad) {
  Here([] {
    std::atomic<bool> over{false};
    Task<void> dumper = BlockingDetached([&] {
      while (!over) (void)DumpFibers();
    });
    for (int i = 0; i < Rounds(3000); ++i) {
      const Chan<int> ch = MakeChan<int>();
      Task<void> task = Go({.name = i % 2 == 0 ? "even" : "odd"}, [ch] { ch.Send(*ch.Recv()); });
      ch.Send(int{i});
      ASSERT_EQ(ch.Recv(), i);
      task.Join();
      if (i % 100 == 0) (void)DumpFibers();
    }
    over = true;
    dumper.Join();
  });
}

}  // namespace
}  // namespace csp
