#include "csp/sched/dump.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "csp/base/clock.h"
#include "csp/sched/internal/code_site.h"
#include "csp/sched/internal/fiber_pool.h"
#include "csp/sched/internal/runtimes.h"
#include "csp/sched/internal/thread_record.h"
#include "csp/sched/runtime.h"

namespace csp {
namespace {

using internal::Fiber;
using internal::Parker;
using internal::Runtime;

std::string Site(const void* address) {
  return address == nullptr ? "" : ", spawned at " + internal::CallSite(address);
}

// Three digits of it, since nobody reads more: "1.23s".
std::string Rounded(std::int64_t nanos) {
  std::int64_t unit = 1;
  while (nanos / unit >= 1000) unit *= 10;
  // Above a minute the digits are hours, minutes and seconds.
  unit = std::min<std::int64_t>(unit, 1'000'000'000);
  return absl::FormatDuration(absl::Nanoseconds(nanos / unit * unit));
}

std::string Waiting(const Parker::Note& note, std::int64_t now) {
  const ParkReason* reason = note.reason.load(std::memory_order_relaxed);
  if (reason == nullptr) return "running or ready";
  const std::int64_t since = note.since.load(std::memory_order_relaxed);
  const void* object = note.object.load(std::memory_order_relaxed);
  return absl::StrFormat("parked in %s %s%s for %s", reason->room, reason->verb,
                         object != nullptr ? absl::StrFormat(" on %p", object) : "",
                         Rounded(std::max<std::int64_t>(0, now - since)));
}

// Lines up to a limit, and a count of those beyond.
class Lines {
 public:
  explicit Lines(std::size_t limit) : limit_(limit) {}

  // True if there is room for one more, which the caller then appends.
  bool Next() { return ++count_ <= limit_; }
  std::size_t room() const { return limit_ - std::min(limit_, count_); }
  void Skip(std::size_t count) { count_ = std::max(count_, limit_) + count; }
  std::string& text() { return text_; }

  std::string Finish() {
    if (count_ > limit_) absl::StrAppendFormat(&text_, "... and %d more\n", count_ - limit_);
    return std::move(text_);
  }

 private:
  const std::size_t limit_;
  std::size_t count_ = 0;
  std::string text_;
};

std::string Named(std::string_view name) {
  return name.empty() ? "" : absl::StrFormat(" \"%s\"", name);
}

void AddFibers(Lines& lines, const Runtime* only) {
  const std::int64_t now = internal::NowNanos();
  internal::FiberPool::Get().ForEachHot([&](Fiber* fiber) {
    const Runtime* runtime = fiber->runtime.load(std::memory_order_relaxed);
    if (runtime == nullptr || (only != nullptr && runtime != only) || !lines.Next()) return;
    char name[Fiber::kNameSize];
    fiber->CopyName(name);
    absl::StrAppendFormat(&lines.text(), "fiber %d%s %s, stack %d KiB%s\n", fiber->number(),
                          Named(name), Waiting(fiber->note, now),
                          internal::StackSizeOf(fiber->stack_class()) >> 10,
                          Site(fiber->spawn_site.load(std::memory_order_relaxed)));
  });
}

// Workers wait for the queues' locks: under them is only copied, into what has been reserved
// before.
void AddUnstarted(Lines& lines, Runtime& runtime) {
  struct Task {
    std::uint64_t number;
    const void* spawn_site;
    char name[Fiber::kNameSize];
  };
  std::vector<Task> tasks;
  const std::size_t there = runtime.unstarted_count();
  tasks.reserve(std::min(there, lines.room()));
  runtime.ForEachUnstarted([&](const internal::TaskRecord& record) {
    if (tasks.size() == tasks.capacity()) return false;
    Task& task = tasks.emplace_back(Task{record.number, record.spawn_site, {}});
    if (record.name != nullptr) std::strncpy(task.name, record.name, sizeof task.name - 1);
    return true;
  });
  for (const Task& task : tasks) {
    if (!lines.Next()) continue;
    absl::StrAppendFormat(&lines.text(), "task %d%s not started%s\n", task.number, Named(task.name),
                          Site(task.spawn_site));
  }
  if (there > tasks.size()) lines.Skip(there - tasks.size());
}

void AddThreads(Lines& lines) {
  const std::int64_t now = internal::NowNanos();
  internal::ThreadRecord::ForEach([&](const internal::ThreadRecord& thread) {
    if (thread.note.reason.load(std::memory_order_relaxed) == nullptr || !lines.Next()) return;
    absl::StrAppendFormat(&lines.text(), "thread %d %s\n", thread.thread_id(),
                          Waiting(thread.note, now));
  });
}

}  // namespace

std::string DumpFibers(std::size_t limit) {
  Lines lines(limit);
  AddFibers(lines, nullptr);
  internal::ForEachRuntime([&](Runtime& runtime) { AddUnstarted(lines, runtime); });
  AddThreads(lines);
  return lines.Finish();
}

std::string internal::DumpFibersOf(Runtime& runtime, std::size_t limit) {
  Lines lines(limit);
  AddFibers(lines, &runtime);
  AddUnstarted(lines, runtime);
  return lines.Finish();
}

void PrintFibers() { std::fputs(DumpFibers().c_str(), stderr); }

}  // namespace csp
