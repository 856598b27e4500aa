#include "csp/sched/internal/ready_queue.h"

#include <algorithm>

namespace csp::internal {

void ReadyQueue::Add(Loot& loot) {
  lock_.EnterAsOwner();
  while (Fiber* fiber = loot.fibers.PopFront()) Append(fiber);
  newborns_.AddOldest(loot.newborns);
  NoteNewborns();
  lock_.LeaveAsOwner();
}

void ReadyQueue::StealSince(const Sight& before, bool slot_too, Loot& loot) {
  lock_.EnterAsVisitor();
  Fiber* slot = slot_.load(std::memory_order_relaxed);
  if (slot_too && slot != nullptr && slot == before.slot) {
    slot_.store(nullptr, std::memory_order_relaxed);
    loot.fibers.PushBack(slot);
    loot.count = 1;
  } else if (before.pushed > popped_.value()) {
    TakeFibers(before.pushed - popped_.value(), loot);
  } else if (before.oldest_newborn != 0 && newborns_.size() != 0 &&
             newborns_.oldest()->number == before.oldest_newborn) {
    newborns_.TakeOldest(loot.newborns);
    loot.count = loot.newborns.size;
    NoteNewborns();
  }
  lock_.LeaveAsVisitor();
}

void ReadyQueue::StealYielded(Loot& loot) {
  lock_.EnterAsVisitor();
  const std::size_t count = yielded_count();
  const std::size_t take = std::min<std::size_t>(count - count / 2, kMostLoot);
  for (; loot.count < take; ++loot.count) loot.fibers.PushBack(yielded_.PopFront());
  yielded_count_.store(count - take, std::memory_order_relaxed);
  lock_.LeaveAsVisitor();
}

void ReadyQueue::TakeFibers(std::uint64_t waiting, Loot& loot) {
  const std::uint64_t take = std::min(waiting - waiting / 2, kMostLoot);
  for (; loot.count < take; ++loot.count) loot.fibers.PushBack(fibers_.PopFront());
  popped_.Add(take);
}

}  // namespace csp::internal
