// Threads for calls that block the thread: files, name lookup, other people's libraries. A runtime
// has one pool; it starts threads as needed, up to a limit, and lets idle ones end. To a job the
// pool's runtime is the current one: what it starts with Go goes there, as if its fiber had.
//
// A thread that cannot be had is asked for again at each Submit and at each job's end; meanwhile
// those that are there do all the work.
//
// A thread that ends waits for the one that ended before it, and the pool for the last; so none
// outlives the pool, not even with the destructors of its thread-locals.
//
// Lock: `mu_` guards everything; it is never held while a job runs.
#ifndef CSP_SCHED_BLOCKING_POOL_H_
#define CSP_SCHED_BLOCKING_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>

#include "csp/base/intrusive_list.h"

namespace csp::internal {

class Runtime;

class BlockingPool {
 public:
  // One call to make. `Run` must not throw; it is the pool's last touch of the job.
  class Job : public ListNode<Job> {
   public:
    virtual void Run() noexcept = 0;

   protected:
    ~Job() = default;
  };

  // `runtime` may be null: then jobs are as on any plain thread. It is not used but handed on.
  explicit BlockingPool(Runtime* runtime = nullptr) : runtime_(runtime) {}
  // Waits for the jobs at work; those not begun are run first.
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // Runs `job` on some pool thread, in order of submission as threads come free. Never suspends.
  // Throws RuntimeError, and does not keep the job, if there is no thread and none can be started.
  void Submit(Job* job);

  std::size_t threads() const;
  // At work or not begun.
  std::size_t calls() const;
  // True if no job waits or runs.
  bool quiet() const;

  static constexpr std::size_t kMaxThreads = 256;

  // Waits for the threads that have ended; from now on idle ones stay. For TSan, which at the
  // process's end takes one that nobody has joined for a leak, and a pool may never be destroyed.
  void JoinEnded();

 private:
  std::error_code StartMissing();
  void StartThread();
  void ThreadMain(std::thread* self);

  Runtime* const runtime_;
  mutable std::mutex mu_;
  std::condition_variable work_;   // a job has come, or the pool is closing
  std::condition_variable ended_;  // a thread has ended
  IntrusiveList<Job> jobs_;
  std::size_t waiting_jobs_ = 0;
  std::size_t threads_ = 0;
  std::size_t starting_ = 0;  // of them, those that have not looked for a job yet
  std::size_t idle_ = 0;      // of them, those that look or wait for one
  bool closing_ = false;
  bool staying_ = false;
  std::thread last_ended_;
};

}  // namespace csp::internal

#endif  // CSP_SCHED_BLOCKING_POOL_H_
