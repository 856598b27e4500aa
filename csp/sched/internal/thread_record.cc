#include "csp/sched/internal/thread_record.h"

#include <pthread.h>
#include <unistd.h>

#include "csp/base/clock.h"
#include "csp/sched/internal/futex.h"
#include "csp/sched/runtime.h"

namespace csp::internal {

Atomic<ThreadRecord*> ThreadRecord::all_{nullptr};

ThreadRecord::ThreadRecord() : Parker(Kind::kThread), random_(NextRandomSeed()) {}

ThreadRecord* ThreadRecord::OfThisThread() {
  // A pthread key instead of a thread_local with a destructor: those run before the destructors of
  // static objects that may still wait, and are the library's one thread_local too many.
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, &OnThreadExit);
    return made;
  }();
  ThreadContext* thread = CurrentThread();
  if (thread->parker != nullptr) return static_cast<ThreadRecord*>(thread->parker);

  ThreadRecord* record = all_.load(std::memory_order_acquire);
  for (; record != nullptr; record = record->next_) {
    bool in_use = false;
    if (record->in_use_.compare_exchange_strong(in_use, true, std::memory_order_acq_rel)) break;
  }
  if (record == nullptr) {
    record = new ThreadRecord;
    record->next_ = all_.load(std::memory_order_relaxed);
    while (!all_.compare_exchange_weak(record->next_, record, std::memory_order_release,
                                       std::memory_order_relaxed)) {
    }
  }
  record->thread_id_.store(gettid(), std::memory_order_relaxed);
  thread->parker = record;
  record->RunsOn(thread);
  thread->budget = INT32_MAX;  // a thread need not yield: the kernel takes turns
  pthread_setspecific(key, record);
  return record;
}

void ThreadRecord::OnThreadExit(void* record) {
  CurrentThread()->parker = nullptr;
  static_cast<ThreadRecord*>(record)->in_use_.store(false, std::memory_order_release);
}

void ThreadRecord::Wait() {
  if (notified_.load(std::memory_order_acquire) == 0) {
    const bool thawed = Runtime::ThawForWait();
    const std::uint32_t waits = waits_.load(std::memory_order_relaxed);
    waits_.store(waits + 1, std::memory_order_seq_cst);  // before NoteThreadParks looks
    Runtime::NoteThreadParks();
    while (notified_.load(std::memory_order_acquire) == 0) FutexWait(notified_, 0, kForever);
    waits_.store(waits + 2, std::memory_order_release);
    if (thawed) Runtime::FreezeAgain();
  }
  notified_.store(0, std::memory_order_release);  // pairs with current_wait's acquire
}

void ThreadRecord::Notify() {
  notified_.store(1, std::memory_order_release);
  FutexWake(notified_);  // the word may have a new owner by now: it is woken for nothing
}

}  // namespace csp::internal
