#include "csp/sched/dump.h"

#include <algorithm>
#include <cstdio>
#include <vector>

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
  const internal::ParkReason* reason = note.reason.load(std::memory_order_relaxed);
  if (reason == nullptr) return "running or ready";
  const std::int64_t since = note.since.load(std::memory_order_relaxed);
  return absl::StrFormat(
      "parked in %s %s on %p for %s", reason->room, reason->verb,
      note.object.load(std::memory_order_relaxed),
      absl::FormatDuration(absl::Nanoseconds(std::max<std::int64_t>(0, now - since))));
}

}  // namespace

std::string DumpFibers() {
  const std::int64_t now = internal::NowNanos();
  std::string out;
  internal::FiberPool::Get().ForEachHot([&](Fiber* fiber) {
    if (fiber->runtime.load(std::memory_order_relaxed) == nullptr) return;
    char name[Fiber::kNameSize];
    const bool named = fiber->CopyName(name) != 0;
    absl::StrAppendFormat(&out, "fiber %d%s %s, stack %d KiB%s\n", fiber->number(),
                          named ? absl::StrFormat(" \"%s\"", name) : "", Waiting(fiber->note, now),
                          internal::StackSizeOf(fiber->stack_class()) >> 10,
                          Site(fiber->spawn_site.load(std::memory_order_relaxed)));
  });
  internal::ForEachRuntime([&](internal::Runtime& runtime) {
    runtime.ForEachUnstarted([&](internal::TaskRecord& task) {
      absl::StrAppendFormat(&out, "task %d%s not started%s\n", task.number,
                            task.name != nullptr ? absl::StrFormat(" \"%s\"", task.name) : "",
                            Site(task.spawn_site));
    });
  });
  internal::ThreadRecord::ForEach([&](const internal::ThreadRecord& thread) {
    if (thread.note.reason.load(std::memory_order_relaxed) == nullptr) return;
    absl::StrAppendFormat(&out, "thread %d %s\n", thread.thread_id(), Waiting(thread.note, now));
  });
  return out;
}

void PrintFibers() { std::fputs(DumpFibers().c_str(), stderr); }

}  // namespace csp
