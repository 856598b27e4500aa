// Jobs for a fixed number of workers, and results that come back as they are done.
//
// The channel of jobs is the queue, its capacity the backpressure, and closing it the order to go
// home. The same shape bounds anything: open connections, files being read, requests under way.
#include <iostream>
#include <map>
#include <utility>
#include <vector>

#include "csp/csp.h"

namespace {

struct Job {
  int number;
};

struct Result {
  int job;
  int answer;
};

// Closes a channel at the end of the task that fills it, also if that is an exception: else whoever
// receives would wait for ever.
template <class T>
class Closing {
 public:
  explicit Closing(csp::SendChan<T> channel) : channel_(std::move(channel)) {}
  ~Closing() { channel_.Close(); }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  const csp::SendChan<T> channel_;
};

void Worker(csp::RecvChan<Job> jobs, csp::SendChan<Result> results) {
  for (const Job& job : jobs) {
    csp::SleepFor(absl::Milliseconds(job.number % 3));  // as if it had to ask somebody
    results.Send({job.number, job.number * job.number});
  }
}

}  // namespace

int main() {
  return csp::Run([] {
    constexpr int kWorkers = 4;
    constexpr int kJobs = 10;
    auto jobs = csp::MakeChan<Job>(kWorkers);
    auto results = csp::MakeChan<Result>(kWorkers);

    std::vector<csp::Task<void>> workers;
    for (int i = 0; i < kWorkers; ++i) workers.push_back(csp::Go(Worker, jobs, results));

    csp::Go([=] {
      const Closing<Job> closing(jobs);
      for (int i = 1; i <= kJobs; ++i) jobs.Send({i});
    });
    csp::Task<void> all = csp::Go([workers = std::move(workers), results]() mutable {
      const Closing<Result> closing(results);
      for (csp::Task<void>& worker : workers) worker.Join();
    });

    std::map<int, int> answers;
    for (const Result& result : results) answers[result.job] = result.answer;
    all.Join();  // throws what a worker has thrown
    for (const auto& [job, answer] : answers) std::cout << job << ": " << answer << "\n";
  });
}

// Output:
// 1: 1
// 2: 4
// 3: 9
// 4: 16
// 5: 25
// 6: 36
// 7: 49
// 8: 64
// 9: 81
// 10: 100
