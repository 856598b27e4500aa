// The suite on Boost.Fiber with its work-stealing scheduler. compare.py builds
// it, with the compiler alone; see ../README.md.

#include <boost/fiber/algo/round_robin.hpp>
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/version.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "bench/boost_fiber/jobs.h"
#include "bench/harness/harness.h"

namespace bench {
namespace {

// A lone work-stealing scheduler has nobody to steal from; round_robin is what
// Boost.Fiber uses on one thread.
void JoinScheduler(int workers) {
  if (workers == 1) {
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::round_robin>();
  } else {
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(
        static_cast<uint32_t>(workers));
  }
}

// The further threads never end: the job ends the process.
[[noreturn]] void ServeForever(int workers) {
  JoinScheduler(workers);
  boost::fibers::mutex mutex;
  boost::fibers::condition_variable never;
  std::unique_lock<boost::fibers::mutex> lock(mutex);
  for (;;) never.wait(lock);
}

void RunOnBoostFiber(int workers, const std::function<void()>& task) {
  for (int i = 1; i < workers; ++i) {
    std::thread(ServeForever, workers).detach();
  }
  JoinScheduler(workers);
  // As a fiber of its own: a thread's main fiber cannot be stolen.
  boost::fibers::fiber(task).join();
}

constexpr const char* kNoSelect = "no select";
constexpr const char* kNoCancellation = "no cancellation";

constexpr Implementation kJobs[] = {
    {"spawn", Spawn},
    {"spawnjoin", SpawnJoin},
    {"spawnblock", SpawnBlock},
    {"yield", Yield},
    {"pingpong", PingPong},
    {"buffered", Buffered},
    {"mpmc", Mpmc},
    {"unbuf_mpmc", UnbufferedMpmc},
    {"select4", nullptr, kNoSelect},
    {"selectbuf", nullptr, kNoSelect},
    {"seltimeout", nullptr, kNoSelect},
    {"ring", Ring},
    {"sieve", Sieve},
    {"skynet", Skynet},
    {"mutex", Mutex},
    {"scope", nullptr, kNoCancellation},
    {"canceltree", nullptr, kNoCancellation},
    {"cancelscope", nullptr, kNoCancellation},
    {"parked", Parked},
    {"sleepers", Sleepers},
    {"wakelatency", WakeLatency},
    {"cpu", Cpu},
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  constexpr int kMajor = BOOST_VERSION / 100000;
  constexpr int kMinor = BOOST_VERSION / 100 % 1000;
  const std::string name = "boost_fiber" + std::to_string(kMajor) + "." + std::to_string(kMinor);
  return bench::Main(argc, argv, {name.c_str(), bench::kJobs, bench::RunOnBoostFiber});
}
