// What cannot be done with the objects of csp/sync, and what the compiler says about it.

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "csp/select/select.h"
#include "csp/sync/auto_reset_event.h"
#include "csp/sync/barrier.h"
#include "csp/sync/cond_var.h"
#include "csp/sync/latch.h"
#include "csp/sync/mutex.h"
#include "csp/sync/once.h"
#include "csp/sync/rw_mutex.h"
#include "csp/sync/semaphore.h"
#include "csp/sync/wait_group.h"

csp::Mutex mu;
csp::RWMutex rw;
csp::CondVar changed;
csp::Semaphore permits(3);
csp::Barrier barrier(2);
csp::Latch latch(1);
csp::WaitGroup group;
csp::AutoResetEvent wake;
csp::Once once;

// They stay where they are, and so do their events and what holds a lock.
template <class... Ts>
constexpr bool kStay = ((!std::is_copy_constructible_v<Ts> && !std::is_move_constructible_v<Ts> &&
                         !std::is_copy_assignable_v<Ts> && !std::is_move_assignable_v<Ts>)&&...);
static_assert(kStay<csp::Mutex, csp::RWMutex, csp::CondVar, csp::Semaphore, csp::Barrier,
                    csp::Latch, csp::WaitGroup, csp::AutoResetEvent, csp::Once>);
static_assert(kStay<csp::MutexLock, csp::WriterLock, csp::ReaderLock>);
static_assert(kStay<csp::Mutex::LockEvent, csp::RWMutex::LockEvent, csp::RWMutex::RLockEvent,
                    csp::Semaphore::AcquireEvent, csp::Barrier::WaitEvent, csp::Latch::WaitEvent,
                    csp::WaitGroup::WaitEvent, csp::AutoResetEvent::WaitEvent>);

void Valid() {
  csp::Select(
      mu.OnLock() >> [](std::unique_lock<csp::Mutex>) {},
      rw.OnLock() >> [](std::unique_lock<csp::RWMutex>) {},
      rw.OnRLock() >> [](std::shared_lock<csp::RWMutex>) {}, permits.OnAcquire(2) >> [] {},
      barrier.OnWait(0), latch.OnWait(), group.OnWait(), wake.OnWait());
  {
    std::unique_lock<csp::Mutex> lock(mu);
    changed.Wait(lock, [] { return true; });
  }
  once.Call([] { return 1; });
  const csp::OnceValue value([] { return std::make_unique<int>(1); });
  (void)*value.Get();
}

// A number would otherwise become one.
#ifdef LATCH_FROM_A_NUMBER  // expect: could not convert | no viable conversion | conversion from
void Case() { csp::Latch from_a_number = 3; }
#endif

#ifdef SEMAPHORE_WITHOUT_A_SIZE  // expect: no matching
void Case() { csp::Semaphore without; }
#endif

#ifdef BARRIER_WITHOUT_PARTIES  // expect: no matching
void Case() { csp::Barrier without; }
#endif

#ifdef SHARED_LOCK_OF_A_MUTEX  // expect: lock_shared
void Case() { const std::shared_lock lock(mu); }
#endif

#ifdef WAIT_WITHOUT_A_MUTEX  // expect: no matching
void Case() { changed.Wait(); }
#endif

#ifdef WAIT_WITH_A_STANDARD_MUTEX  // expect: no matching
void Case(std::unique_lock<std::mutex>& lock) { changed.Wait(lock); }
#endif

#ifdef WAIT_WITH_A_READER  // expect: no matching
void Case(std::shared_lock<csp::RWMutex>& lock) { changed.Wait(lock); }
#endif

#ifdef IGNORED_TRY_LOCK  // expect: unused-result | ignoring return value
#pragma GCC diagnostic error "-Wunused-result"
void Case() { mu.OnLock(); }
#endif

#ifdef STORED_LOCK_EVENT  // expect: an event is for one Select; write it there, do not store it
void Case() {
  auto event = mu.OnLock();
  csp::Select(event);
}
#endif

#ifdef STORED_ACQUIRE_EVENT  // expect: an event is for one Select; write it there, do not store it
void Case() {
  auto event = permits.OnAcquire();
  csp::Select(event >> [] {});
}
#endif

#ifdef HANDLER_WITHOUT_THE_LOCK  // expect: the handler must be callable with the event's result
void Case() {
  csp::Select(mu.OnLock() >> [] {});
}
#endif

#ifdef READER_AS_WRITER  // expect: the handler must be callable with the event's result
void Case() {
  csp::Select(rw.OnRLock() >> [](std::unique_lock<csp::RWMutex>) {});
}
#endif

#ifdef HANDLER_OF_NOTHING  // expect: the handler must be callable with the event's result
void Case() {
  csp::Select(latch.OnWait() >> [](std::string) {});
}
#endif

#ifdef ONCE_WITH_AN_ARGUMENT  // expect: Once::Call: the function takes no arguments
void Case() {
  once.Call([](int) {});
}
#endif

#ifdef ONCE_WITHOUT_A_VALUE  // expect: OnceValue: the function returns nothing that could be kept
void Case() {
  const csp::OnceValue value([] {});
}
#endif
