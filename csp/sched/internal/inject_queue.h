// A FIFO of ready work under a lock: the runtime's global queue (what foreign threads wake and
// spawn), and each worker's inbox of pinned work.
#ifndef CSP_SCHED_INTERNAL_INJECT_QUEUE_H_
#define CSP_SCHED_INTERNAL_INJECT_QUEUE_H_

#include <cstddef>
#include <mutex>

#include "csp/base/cache_line.h"
#include "csp/base/intrusive_list.h"
#include "csp/base/spinlock.h"
#include "csp/sched/internal/fiber_list.h"
#include "csp/sched/task_record.h"

namespace csp::internal {

class InjectQueue {
 public:
  void Push(Fiber* fiber) {
    const std::lock_guard lock(mu_);
    fibers_.PushBack(fiber);
    Add(1);
  }

  void Push(TaskRecord* task) {
    const std::lock_guard lock(mu_);
    tasks_.PushBack(task);
    NoteTasks(task_count() + 1);
    Add(1);
  }

  // Up to `limit` fibers into `out`, oldest first; returns how many.
  std::size_t PopFibers(Fiber** out, std::size_t limit) {
    if (empty()) return 0;
    const std::lock_guard lock(mu_);
    std::size_t count = 0;
    while (count < limit && !fibers_.empty()) out[count++] = fibers_.PopFront();
    Subtract(count);
    return count;
  }

  // The oldest task that has not started; null if there is none.
  TaskRecord* PopTask() {
    if (empty()) return nullptr;
    const std::lock_guard lock(mu_);
    TaskRecord* task = tasks_.PopFront();
    if (task != nullptr) {
      NoteTasks(task_count() - 1);
      Subtract(1);
    }
    return task;
  }

  // Fibers and tasks. seq_cst: pairs with the watcher, which announces its sleep and then looks.
  std::size_t size() const { return size_.load(std::memory_order_seq_cst); }
  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }

  // Those among them that have not started.
  std::size_t task_count() const { return task_count_.load(std::memory_order_relaxed); }

  // Calls `visit` with each of these, under the lock, until it says false.
  template <class Visit>
  void ForEachTask(Visit visit) {
    const std::lock_guard lock(mu_);
    TaskRecord* task = tasks_.front();
    while (task != nullptr && visit(*task)) task = IntrusiveList<TaskRecord>::Next(task);
  }

 private:
  void NoteTasks(std::size_t count) { task_count_.store(count, std::memory_order_relaxed); }
  void Add(std::size_t count) {
    size_.store(size_.load(std::memory_order_relaxed) + count, std::memory_order_seq_cst);
  }
  void Subtract(std::size_t count) {
    size_.store(size_.load(std::memory_order_relaxed) - count, std::memory_order_relaxed);
  }

  alignas(kCacheLine) SpinLock mu_{LockRank::kQueue};
  FiberList fibers_;
  IntrusiveList<TaskRecord> tasks_;
  Atomic<std::size_t> size_{0};
  Atomic<std::size_t> task_count_{0};
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_INJECT_QUEUE_H_
