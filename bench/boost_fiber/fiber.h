// What the jobs need around Boost.Fiber.

#ifndef CSP_BENCH_BOOST_FIBER_FIBER_H_
#define CSP_BENCH_BOOST_FIBER_FIBER_H_

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <cstdint>
#include <mutex>
#include <utility>

namespace bench {

// Starts a detached fiber. Posted, as all runtimes of the suite do: the spawner
// goes on, and an idle thread may take the new fiber.
template <typename F>
void Go(F f) {
  boost::fibers::fiber(boost::fibers::launch::post, std::move(f)).detach();
}

// Waits for a number of events. It may live on the stack of the fiber that
// waits: Done touches nothing once it has unlocked.
class Countdown {
 public:
  explicit Countdown(int64_t n) : left_(n) {}

  void Done() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    if (--left_ == 0) zero_.notify_all();
  }

  void Wait() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    zero_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable zero_;
  int64_t left_;
};

}  // namespace bench

#endif  // CSP_BENCH_BOOST_FIBER_FIBER_H_
