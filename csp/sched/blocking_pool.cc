#include "csp/sched/blocking_pool.h"

#include <chrono>
#include <system_error>
#include <thread>

namespace csp::internal {
namespace {

constexpr std::chrono::seconds kIdleLife(10);

}  // namespace

BlockingPool::~BlockingPool() {
  std::unique_lock lock(mu_);
  closing_ = true;
  work_.notify_all();
  ended_.wait(lock, [this] { return threads_ == 0; });
}

void BlockingPool::Submit(Job* job) {
  const std::lock_guard lock(mu_);
  if (idle_ <= waiting_jobs_ && threads_ < kMaxThreads) {
    try {
      std::thread([this] { ThreadMain(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      if (threads_ == 0) throw;  // else the ones that are there will come to it
    }
  }
  jobs_.PushBack(job);
  ++waiting_jobs_;
  work_.notify_one();
}

void BlockingPool::ThreadMain() {
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
  --threads_;
  ended_.notify_all();
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
