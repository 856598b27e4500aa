#include "csp/sched/dump.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "absl/debugging/symbolize.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "csp/base/clock.h"
#include "csp/sched/internal/fiber_pool.h"
#include "csp/sched/internal/runtimes.h"
#include "csp/sched/internal/thread_record.h"
#include "csp/sched/runtime.h"

namespace csp {
namespace {

using internal::Fiber;
using internal::Parker;

std::string Site(const void* address) {
  if (address == nullptr) return "";
  char name[256];
  // The address is that of the instruction behind the call.
  const void* call = static_cast<const char*>(address) - 1;
  if (absl::Symbolize(call, name, sizeof name)) {
    return absl::StrFormat(", spawned at %s (%p)", name, address);
  }
  return absl::StrFormat(", spawned at %p", address);
}

std::string Waiting(const Parker::Note& note, std::int64_t now) {
  const ParkReason* reason = note.reason.load(std::memory_order_relaxed);
  if (reason == nullptr) return "running or ready";
  const std::int64_t since = note.since.load(std::memory_order_relaxed);
  return absl::StrFormat(
      "parked in %s %s on %p for %s", reason->room, reason->verb,
      note.object.load(std::memory_order_relaxed),
      absl::FormatDuration(absl::Nanoseconds(std::max<std::int64_t>(0, now - since))));
}

// Lines up to a limit, and a count of those beyond.
class Lines {
 public:
  explicit Lines(std::size_t limit) : limit_(limit) {}

  // True if there is room for one more, which the caller then appends.
  bool Next() { return ++count_ <= limit_; }
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

}  // namespace

std::string DumpFibers(std::size_t limit) {
  const std::int64_t now = internal::NowNanos();
  Lines lines(limit);
  internal::FiberPool::Get().ForEachHot([&](Fiber* fiber) {
    if (fiber->runtime.load(std::memory_order_relaxed) == nullptr || !lines.Next()) return;
    char name[Fiber::kNameSize];
    fiber->CopyName(name);
    absl::StrAppendFormat(&lines.text(), "fiber %d%s %s, stack %d KiB%s\n", fiber->number(),
                          Named(name), Waiting(fiber->note, now),
                          internal::StackSizeOf(fiber->stack_class()) >> 10,
                          Site(fiber->spawn_site.load(std::memory_order_relaxed)));
  });
  internal::ForEachRuntime([&](internal::Runtime& runtime) {
    runtime.ForEachUnstarted([&](internal::TaskRecord& task) {
      if (!lines.Next()) return;
      absl::StrAppendFormat(&lines.text(), "task %d%s not started%s\n", task.number,
                            Named(task.name != nullptr ? task.name : ""), Site(task.spawn_site));
    });
  });
  internal::ThreadRecord::ForEach([&](const internal::ThreadRecord& thread) {
    if (thread.note.reason.load(std::memory_order_relaxed) == nullptr || !lines.Next()) return;
    absl::StrAppendFormat(&lines.text(), "thread %d %s\n", thread.thread_id(),
                          Waiting(thread.note, now));
  });
  return lines.Finish();
}

void PrintFibers() { std::fputs(DumpFibers().c_str(), stderr); }

}  // namespace csp
