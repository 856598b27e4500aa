// A plain thread as a waiter: its Parker, with the word that it sleeps on.
//
// Lifetime: made on a thread's first wait, kept for the next thread when the thread ends; never
// freed (Parker, invariant 4).
#ifndef CSP_SCHED_INTERNAL_THREAD_RECORD_H_
#define CSP_SCHED_INTERNAL_THREAD_RECORD_H_

#include <cstddef>
#include <cstdint>

#include "csp/base/random.h"
#include "csp/sched/parker.h"

namespace csp::internal {

class ThreadRecord final : public Parker {
 public:
  // The calling thread's; made if it has none yet.
  static ThreadRecord* OfThisThread();

  void Wait();
  void Notify();
  // Which wait it is in that nobody has ended yet; 0: none. Of one thread no two have the same.
  std::uint32_t current_wait() const {
    const std::uint32_t waits = waits_.load(std::memory_order_seq_cst);
    const bool notified = notified_.load(std::memory_order_acquire) != 0;
    // Looked at again: the word may be down since the thread has taken the notification already.
    return waits % 2 == 0 || notified || waits_.load(std::memory_order_relaxed) != waits ? 0
                                                                                         : waits;
  }

  Random& random() { return random_; }
  int thread_id() const { return thread_id_.load(std::memory_order_relaxed); }

  // Calls `visit` with every record whose thread lives.
  template <class Visit>
  static void ForEach(Visit visit) {
    for (ThreadRecord* record = all_.load(std::memory_order_acquire); record != nullptr;
         record = record->next_) {
      if (record->in_use_.load(std::memory_order_acquire)) visit(*record);
    }
  }

 private:
  ThreadRecord();
  static void OnThreadExit(void* record);

  static Atomic<ThreadRecord*> all_;  // grows at the head only

  Atomic<std::uint32_t> notified_{0};
  Atomic<std::uint32_t> waits_{0};  // odd: in one
  Atomic<bool> in_use_{true};
  Atomic<int> thread_id_{0};
  Random random_;
  ThreadRecord* next_ = nullptr;
};

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_THREAD_RECORD_H_
