// Plain threads and fibers talk over the same channels. On a thread a blocking call blocks the
// thread; on a fiber only the fiber. Code that would block a worker goes through Blocking.
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>

#include "csp/csp.h"

namespace {

// A library that knows nothing of fibers, and blocks its caller.
class OldLibrary {
 public:
  int Wait() {
    std::unique_lock lock(mu_);
    ready_.wait(lock, [this] { return answer_.has_value(); });
    return *answer_;
  }
  void Provide(int answer) {
    {
      const std::lock_guard lock(mu_);
      answer_ = answer;
    }
    ready_.notify_all();
  }

 private:
  std::mutex mu_;
  std::condition_variable ready_;
  std::optional<int> answer_;
};

}  // namespace

// Without Run: the default runtime starts with the first Go.
int main() {
  auto questions = csp::MakeChan<int>();
  auto answers = csp::MakeChan<int>();
  csp::Task<void> doubler = csp::Go([=] {
    for (const int question : questions) answers.Send(question * 2);
    answers.Close();
  });

  std::thread thread([=] {
    for (int i = 1; i <= 3; ++i) questions.Send(i);
    questions.Close();
  });

  // The main thread selects like any fiber.
  for (bool open = true; open;) {
    csp::Select(
        answers.OnRecv() >>
            [&](std::optional<int> answer) {
              if (answer) std::cout << *answer << "\n";
              open = answer.has_value();
            },
        csp::OnTimeout(absl::Seconds(10)) >> [&] { open = false; });
  }
  thread.join();
  doubler.Join();

  // One fiber waits in the old library, on a thread of the pool; the other one is free to answer.
  OldLibrary library;
  csp::Task<int> waiter = csp::Go([&] { return csp::Blocking([&] { return library.Wait(); }); });
  csp::Go([&] { library.Provide(42); }).Join();
  std::cout << waiter.Join() << "\n";
}

// Output:
// 2
// 4
// 6
// 42
