#include "csp/sched/internal/timer_heap.h"

#include <algorithm>
#include <mutex>

namespace csp::internal {

bool TimerHeap::Add(Timer& timer, std::int64_t deadline) {
  {
    const std::lock_guard lock(mu_);
    if (entries_.size() < entries_.capacity()) return Insert(timer, deadline);
  }
  return AddAndGrow(timer, deadline);
}

// The larger array is allocated before the lock is taken, and the smaller one freed after it.
bool TimerHeap::AddAndGrow(Timer& timer, std::int64_t deadline) {
  std::vector<Entry> larger;
  std::unique_lock lock(mu_);
  while (entries_.size() == entries_.capacity()) {
    const std::size_t capacity = std::max(2 * entries_.capacity(), kFirstCapacity);
    lock.unlock();
    larger = {};
    larger.reserve(capacity);
    lock.lock();
    if (larger.capacity() <= entries_.capacity()) continue;  // another thread was quicker
    larger.assign(entries_.begin(), entries_.end());
    larger.swap(entries_);
  }
  return Insert(timer, deadline);
}

bool TimerHeap::Insert(Timer& timer, std::int64_t deadline) {
  entries_.push_back({});
  timer.heap_ = this;
  SiftUp(entries_.size() - 1, {deadline, &timer});
  Publish();
  return timer.place_ == 0;
}

bool TimerHeap::Remove(Timer& timer) {
  const std::lock_guard lock(mu_);
  if (timer.place_ == Timer::kNotArmed) return false;
  Erase(timer.place_);
  Publish();
  return true;
}

std::size_t TimerHeap::FireDue(std::int64_t now, Timer::Fired* out, std::size_t limit) {
  std::size_t count = 0;
  const std::lock_guard lock(mu_);
  while (count < limit && !entries_.empty() && entries_[0].deadline <= now) {
    Timer* timer = entries_[0].timer;
    Erase(0);
    out[count++] = timer->Fire();
  }
  Publish();
  return count;
}

void TimerHeap::Orphan() {
  std::vector<Entry> orphans;
  {
    const std::lock_guard lock(mu_);
    orphans.swap(entries_);
    for (const Entry& orphan : orphans) orphan.timer->place_ = Timer::kNotArmed;
    Publish();
  }
  for (const Entry& orphan : orphans) orphan.timer->Orphaned();
}

void TimerHeap::Publish() {
  size_.store(entries_.size(), std::memory_order_relaxed);
  const std::int64_t next = entries_.empty() ? kForever : entries_[0].deadline;
  // seq_cst, but only when it changes: the sleeping watcher must not miss an earlier deadline.
  if (next != next_.load(std::memory_order_relaxed)) {
    next_.store(next, std::memory_order_seq_cst);
  }
}

void TimerHeap::Place(std::size_t at, const Entry& entry) {
  entries_[at] = entry;
  entry.timer->place_ = at;
}

void TimerHeap::SiftUp(std::size_t at, Entry entry) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / kArity;
    if (entries_[parent].deadline <= entry.deadline) break;
    Place(at, entries_[parent]);
    at = parent;
  }
  Place(at, entry);
}

void TimerHeap::SiftDown(std::size_t at, Entry entry) {
  for (;;) {
    const std::size_t first = at * kArity + 1;
    if (first >= entries_.size()) break;
    const std::size_t end = std::min(first + kArity, entries_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (entries_[child].deadline < entries_[least].deadline) least = child;
    }
    if (entry.deadline <= entries_[least].deadline) break;
    Place(at, entries_[least]);
    at = least;
  }
  Place(at, entry);
}

void TimerHeap::Erase(std::size_t at) {
  entries_[at].timer->place_ = Timer::kNotArmed;
  const Entry last = entries_.back();
  entries_.pop_back();
  if (at == entries_.size()) return;
  if (at > 0 && entries_[(at - 1) / kArity].deadline > last.deadline) {
    SiftUp(at, last);
  } else {
    SiftDown(at, last);
  }
}

}  // namespace csp::internal
