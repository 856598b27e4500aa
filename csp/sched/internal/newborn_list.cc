#include "csp/sched/internal/newborn_list.h"

#include <algorithm>
#include <new>
#include <utility>

namespace csp::internal {

// Without memory for one more the newest batch just grows.
void NewbornList::CloseBatch() {
  try {
    batches_.emplace_back();
    std::swap(batches_.back(), newest_);
  } catch (const std::bad_alloc&) {
  }
}

bool NewbornList::ReopenBatch() {
  if (batches_.empty()) return false;
  std::swap(newest_, batches_.back());
  batches_.pop_back();
  return true;
}

TaskRecord* NewbornList::PopFront() {
  if (size_ == 0) return nullptr;
  --size_;
  Batch& oldest = batches_.empty() ? newest_ : batches_.front();
  TaskRecord* task = oldest.tasks.PopFront();
  if (--oldest.size == 0 && !batches_.empty()) batches_.pop_front();
  return task;
}

void NewbornList::TakeOldest(Batch& taken) {
  const std::size_t half = size_ - size_ / 2;
  while (!batches_.empty() && taken.size + batches_.front().size <= std::min(half, kMostTaken)) {
    taken.tasks.Append(batches_.front().tasks);
    taken.size += batches_.front().size;
    batches_.pop_front();
  }
  size_ -= taken.size;
  if (taken.size != 0) return;
  for (; taken.size < std::min(half, kMostWalked); ++taken.size) taken.tasks.PushBack(PopFront());
}

void NewbornList::AddOldest(Batch& batch) {
  if (batch.size == 0) return;
  size_ += batch.size;
  try {
    batches_.emplace_front();
    std::swap(batches_.front(), batch);
  } catch (const std::bad_alloc&) {  // then it is the newest; nothing is lost but its place
    newest_.tasks.Append(batch.tasks);
    newest_.size += std::exchange(batch.size, 0);
  }
}

}  // namespace csp::internal
