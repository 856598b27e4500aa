// Tasks that have not started, by age, for an owner at the new end and thieves at the old one.
//
// Of a long list a thief takes whole batches. If it took one by one it would walk through records
// that another processor has just written, some 80 ns each, with the owner shut out all the time.
//
// Invariants
//  1. From the oldest to the newest: the batches, front to back, then `newest_`.
//  2. No batch is empty, and `size_` counts all tasks.
//
// Thread rules: none of its own (ready_queue.h has the lock).
#ifndef CSP_SCHED_INTERNAL_NEWBORN_LIST_H_
#define CSP_SCHED_INTERNAL_NEWBORN_LIST_H_

#include <cstddef>
#include <deque>

#include "csp/base/intrusive_list.h"
#include "csp/sched/task_record.h"

namespace csp::internal {

class NewbornList {
 public:
  // Some tasks, by age.
  struct Batch {
    IntrusiveList<TaskRecord> tasks;
    std::size_t size = 0;
  };

  static constexpr std::size_t kBatch = 256;
  // The most that is taken at a time, and the most that is taken one by one.
  static constexpr std::size_t kMostTaken = 1024;
  static constexpr std::size_t kMostWalked = 128;

  std::size_t size() const { return size_; }

  // Null if empty.
  TaskRecord* oldest() const {
    return batches_.empty() ? newest_.tasks.front() : batches_.front().tasks.front();
  }

  void PushBack(TaskRecord* task) {
    if (newest_.size >= kBatch) [[unlikely]] {
      CloseBatch();
    }
    newest_.tasks.PushBack(task);
    ++newest_.size;
    ++size_;
  }

  // Null if empty.
  TaskRecord* PopBack() {
    if (newest_.size == 0 && !ReopenBatch()) return nullptr;
    --newest_.size;
    --size_;
    return newest_.tasks.PopBack();
  }
  TaskRecord* PopFront();

  // Moves the oldest to `taken`, which is empty: up to half of all, rounded up.
  void TakeOldest(Batch& taken);

  // Adds what is older than everything here, and leaves `batch` empty.
  void AddOldest(Batch& batch);

  // Calls `visit` with each task until it says false.
  template <class Visit>
  void ForEach(Visit visit) {
    for (const Batch& batch : batches_) {
      if (!ForEachIn(batch, visit)) return;
    }
    ForEachIn(newest_, visit);
  }

 private:
  template <class Visit>
  static bool ForEachIn(const Batch& batch, Visit& visit) {
    for (TaskRecord* task = batch.tasks.front(); task != nullptr;
         task = IntrusiveList<TaskRecord>::Next(task)) {
      if (!visit(*task)) return false;
    }
    return true;
  }
  void CloseBatch();
  bool ReopenBatch();

  std::deque<Batch> batches_;
  Batch newest_;
  std::size_t size_ = 0;
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_NEWBORN_LIST_H_
