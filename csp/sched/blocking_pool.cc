#include "csp/sched/blocking_pool.h"

#include <pthread.h>

#include <chrono>
#include <memory>
#include <system_error>
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
    if (idle_ <= waiting_jobs_ && threads_ < kMaxThreads) StartThread();
    jobs_.PushBack(job);
    ++waiting_jobs_;
  }
  work_.notify_one();  // whoever wakes finds the lock free
}

void BlockingPool::StartThread() {
  auto self = std::make_unique<std::thread>();
  try {
    // It waits for the lock, so it finds itself in *self.
    *self = std::thread([this, self = self.get()] { ThreadMain(self); });
    ++threads_;
    (void)self.release();
  } catch (const std::system_error&) {
    if (threads_ == 0) throw;  // else the ones that are there will come to it
  }
}

void BlockingPool::ThreadMain(std::thread* self) {
  pthread_setname_np(pthread_self(), "csp-blocking");
  CurrentThread()->runtime = runtime_;
  std::unique_lock lock(mu_);
  for (;;) {
    ++idle_;
    work_.wait_for(lock, kIdleLife, [this] { return !jobs_.empty() || closing_; });
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

std::size_t BlockingPool::threads() const {
  const std::lock_guard lock(mu_);
  return threads_;
}

std::size_t BlockingPool::idle_threads() const {
  const std::lock_guard lock(mu_);
  return idle_;
}

bool BlockingPool::quiet() const {
  const std::lock_guard lock(mu_);
  return waiting_jobs_ == 0 && idle_ == threads_;
}

}  // namespace csp::internal
