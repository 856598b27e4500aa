// The fixture of csp's tests: runs a test's body on runtimes of several sizes and on a plain
// thread, and afterwards looks that nothing is left.
//
//   using ChanTest = csp::RuntimeTest;
//   CSP_INSTANTIATE(ChanTest);
//
//   TEST_P(ChanTest, SendMeetsRecv) {
//     Here([] {
//       auto ch = csp::MakeChan<int>();
//       csp::Go([ch] { ch.Send(1); });
//       EXPECT_EQ(ch.Recv(), 1);
//     });
//   }
//
// What is looked at when the body has returned: every task has finished, no timer is armed, no
// fiber or thread waits that did not before, and as many descriptors are open as before. A body
// that does not end is ended after a minute, with a dump of all fibers.
//
// A body may change threads. EXPECT and ASSERT do not mind; SCOPED_TRACE, which belongs to a
// thread, must not be used in one.
#ifndef TESTS_SUPPORT_FIXTURE_H_
#define TESTS_SUPPORT_FIXTURE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/scale.h"

namespace csp {

// Aborts the process, after a dump of all fibers, if it lives for longer than `patience`.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds patience = kPatience);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mu_;
  std::condition_variable over_cv_;
  bool over_ = false;
  std::thread thread_;
};

// Where a body runs: on the main fiber of a runtime with so many workers ...
struct Place {
  int workers;  // ... or, if 0, on a plain thread, whose tasks run in the default runtime

  bool plain_thread() const { return workers == 0; }
};

// Runs `body` there, under a watchdog, and checks that nothing is left. An exception of `body`
// fails the test.
void RunAt(Place place, const std::function<void()>& body,
           std::chrono::seconds patience = kPatience);

// Lets others run until `done`, for a fraction of kPatience at most, and says whether it came to
// that. For conditions that must come true without anybody's help.
bool EventuallyTrue(const std::function<bool()>& done);

// Returns when every worker of this runtime has run something, so that what a worker allocates as
// its thread starts is behind it. To be called where nothing else runs.
void StartEveryWorker();

class RuntimeTest : public testing::TestWithParam<Place> {
 protected:
  void Here(const std::function<void()>& body) { RunAt(GetParam(), body); }
  int workers() const { return GetParam().workers; }
  bool on_plain_thread() const { return GetParam().plain_thread(); }
};

// Names of the instances: Workers1 ... Workers8, PlainThread.
std::string NameOf(const testing::TestParamInfo<Place>& info);

#define CSP_INSTANTIATE(Suite)                                                                    \
  INSTANTIATE_TEST_SUITE_P(                                                                       \
      On, Suite,                                                                                  \
      testing::Values(csp::Place{1}, csp::Place{2}, csp::Place{4}, csp::Place{8}, csp::Place{0}), \
      csp::NameOf)

}  // namespace csp

#endif  // TESTS_SUPPORT_FIXTURE_H_
