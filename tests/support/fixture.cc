#include "tests/support/fixture.h"

#include <dirent.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/debugging/symbolize.h"
#include "csp/sched/dump.h"
#include "csp/task/go.h"
#include "csp/task/run.h"
#include "csp/task/task.h"

namespace csp {
namespace {

// The symbolizer, which dumps use, keeps the program's file open from its first use on.
void OpenProgramFile() {
  char name[64];
  (void)absl::Symbolize(reinterpret_cast<const void*>(&OpenProgramFile), name, sizeof name);
}

int OpenDescriptors() {
  DIR* directory = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

int CountLines(const std::string& text) {
  int lines = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) ++lines;
  return lines;
}

// In the runtime: `own` tasks are the caller's.
void ExpectQuiet(std::uint64_t own) {
  EXPECT_TRUE(EventuallyTrue([&] {
    const RuntimeStats stats = GetStats();
    return stats.tasks_spawned == stats.tasks_finished + own && stats.timers == 0;
  })) << "tasks: "
      << GetStats().tasks_spawned << " spawned, " << GetStats().tasks_finished << " finished, "
      << own << " is the test itself; timers: " << GetStats().timers << "\n"
      << DumpFibers();
}

void RunBody(const std::function<void()>& body, std::uint64_t own) {
  try {
    body();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "the test's body threw: " << e.what();
  }
  ExpectQuiet(own);
}

}  // namespace

Watchdog::Watchdog(std::chrono::seconds patience)
    : thread_([this, patience] {
        std::unique_lock lock(mu_);
        if (over_cv_.wait_for(lock, patience, [this] { return over_; })) return;
        std::fprintf(stderr, "the test hangs:\n%s", DumpFibers().c_str());
        std::abort();
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mu_);
    over_ = true;
  }
  over_cv_.notify_one();
  thread_.join();
}

void RunAt(Place place, const std::function<void()>& body, std::chrono::seconds patience) {
  const Watchdog watchdog(patience);
  OpenProgramFile();
  if (place.plain_thread()) (void)GetStats();  // starts the default runtime, which stays
  const int descriptors = OpenDescriptors();
  const int waiting = CountLines(DumpFibers());
  if (place.plain_thread()) {
    std::thread([&] { RunBody(body, 0); }).join();
  } else {
    Run([&] { RunBody(body, 1); }, {.workers = place.workers});
  }
  EXPECT_TRUE(EventuallyTrue([&] { return CountLines(DumpFibers()) <= waiting; })) << DumpFibers();
  EXPECT_EQ(OpenDescriptors(), descriptors);
}

bool EventuallyTrue(const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + kPatience / 6;
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    Yield();
  }
  return true;
}

void StartEveryWorker() {
  const int workers = GetStats().workers;
  std::atomic<int> running{0};
  std::vector<Task<void>> tasks;
  for (int i = 0; i < workers; ++i) {
    tasks.push_back(Go([&] {
      ++running;
      while (running < workers) std::this_thread::yield();  // keeps its worker from the others
    }));
  }
  for (Task<void>& task : tasks) task.Join();
}

std::string NameOf(const testing::TestParamInfo<Place>& info) {
  return info.param.plain_thread() ? "PlainThread" : "Workers" + std::to_string(info.param.workers);
}

}  // namespace csp
