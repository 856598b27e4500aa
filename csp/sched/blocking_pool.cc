#include "csp/sched/blocking_pool.h"

#include <pthread.h>

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "csp/base/panic.h"
#include "csp/base/thread_context.h"

namespace csp::internal {
namespace {

constexpr std::chrono::seconds kIdleLife(10);

}  // namespace

BlockingPool::~BlockingPool() {
  std::unique_lock lock(mu_);
  closing_ = true;
  work_.notify_all();
  ended_.wait(lock, [this] { return threads_ == 0; });
  lock.unlock();
  if (last_ended_.joinable()) last_ended_.join();
}

void BlockingPool::Submit(Job* job) {
  {
    const std::lock_guard lock(mu_);
    jobs_.PushBack(job);
    ++waiting_jobs_;
    const std::error_code error = StartMissing();
    if (threads_ == 0) {  // else those that are there will come to it
      jobs_.Remove(job);
      --waiting_jobs_;
      throw RuntimeError("Blocking: no thread could be started for the call (" + error.message() +
                         "); raise RLIMIT_NPROC (ulimit -u), the cgroup's pids.max or "
                         "kernel.threads-max, or run fewer threads");
    }
  }
  work_.notify_one();  // whoever wakes finds the lock free
}

// A thread for each job that waits, as far as they can be had; says why no more could.
std::error_code BlockingPool::StartMissing() {
  try {
    while (waiting_jobs_ > idle_ + starting_ && threads_ < kMaxThreads) StartThread();
  } catch (const std::system_error& e) {
    return e.code();
  } catch (const std::bad_alloc&) {
    return std::make_error_code(std::errc::not_enough_memory);
  }
  return {};
}

void BlockingPool::StartThread() {
  auto self = std::make_unique<std::thread>();
  // It waits for the lock, so it finds itself in *self.
  *self = std::thread([this, self = self.get()] { ThreadMain(self); });
  ++threads_;
  ++starting_;
  (void)self.release();
}

void BlockingPool::ThreadMain(std::thread* self) {
  pthread_setname_np(pthread_self(), "csp-blocking");
  CurrentThread()->runtime = runtime_;
  std::unique_lock lock(mu_);
  --starting_;
  for (;;) {
    ++idle_;
    StartMissing();
    do {
      work_.wait_for(lock, kIdleLife, [this] { return !jobs_.empty() || closing_; });
    } while (jobs_.empty() && !closing_ && staying_);
    --idle_;
    Job* job = jobs_.PopFront();
    if (job == nullptr) break;  // idle for long, or closing
    --waiting_jobs_;
    lock.unlock();
    job->Run();
    lock.lock();
  }
  std::thread before = std::exchange(last_ended_, std::move(*self));
  delete self;
  --threads_;
  ended_.notify_all();
  lock.unlock();
  CurrentThread()->runtime = nullptr;  // the destructors of thread-locals are no job
  if (before.joinable()) before.join();
}

void BlockingPool::JoinEnded() {
  std::thread ended;
  {
    const std::lock_guard lock(mu_);
    staying_ = true;
    ended = std::move(last_ended_);
  }
  if (ended.joinable()) ended.join();
}

std::size_t BlockingPool::threads() const {
  const std::lock_guard lock(mu_);
  return threads_;
}

std::size_t BlockingPool::calls() const {
  const std::lock_guard lock(mu_);
  return waiting_jobs_ + threads_ - idle_ - starting_;
}

bool BlockingPool::quiet() const {
  const std::lock_guard lock(mu_);
  return waiting_jobs_ == 0 && idle_ == threads_;
}

}  // namespace csp::internal
