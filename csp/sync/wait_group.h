// Waits for a number of tasks that is known as they start.
//
//   csp::WaitGroup all;
//   for (const Url& url : urls) {
//     all.Add(1);
//     csp::Go([&, url] { Fetch(url); all.Done(); });
//   }
//   all.Wait();
//
//   verb    event     try         with a limit
//   Wait    OnWait    TryWait     WaitFor, WaitUntil
//
// A wait is over if at one moment the count was zero: who waits then goes on, also if something is
// added right afterwards. The group can be used again at once. Add before the task starts, not in
// it, or Wait may come first. To see what the tasks threw, keep their handles and Join them
// instead.
//
// Thread rules: all members from any fiber or thread. It may be destroyed as soon as a Wait has
// returned and nobody else uses it, even while the last Done is on its way out.
// Memory ordering: what happens before a Done is visible after a Wait that it ended.
// Complexity: O(1), and the last Done O(number of waiters). No allocation.
#ifndef CSP_SYNC_WAIT_GROUP_H_
#define CSP_SYNC_WAIT_GROUP_H_

#include <cstdint>

#include "absl/time/time.h"
#include "csp/sync/internal/zero_count.h"

namespace csp {

class WaitGroup {
 public:
  class WaitEvent;

  // InvalidArgument if `count` is negative.
  explicit WaitGroup(std::int64_t count = 0);
  WaitGroup(const WaitGroup&) = delete;
  WaitGroup& operator=(const WaitGroup&) = delete;
#ifdef NDEBUG
  ~WaitGroup() = default;
#else
  ~WaitGroup();
#endif

  // Adds `delta`, which may be negative, to the count; at zero all who wait go on. Never suspends.
  // Throws SyncError, and nothing has changed, if the count would be negative.
  void Add(std::int64_t delta);
  // Add(-1).
  void Done();

  // Blocks until the count is zero. Throws Cancelled.
  void Wait();
  // True if the count is zero. Never suspends.
  bool TryWait() { return count_.count() == 0; }
  // As Wait, up to a limit: false if it has passed.
  bool WaitFor(absl::Duration limit);
  bool WaitUntil(absl::Time deadline);
  // The same for Select; no result.
  [[nodiscard]] WaitEvent OnWait();

 private:
  internal::ZeroCount count_;
};

class WaitGroup::WaitEvent final : public internal::ZeroCount::ZeroCase {
 public:
  explicit WaitEvent(WaitGroup& group) : ZeroCase(group.count_) {}
  const ParkReason& reason() const override;
};

inline WaitGroup::WaitEvent WaitGroup::OnWait() { return WaitEvent(*this); }

}  // namespace csp

#endif  // CSP_SYNC_WAIT_GROUP_H_
