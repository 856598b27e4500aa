// Runs a small concurrent program under every interleaving of its atomic
// accesses, and checks it in each.
//
//   TEST(CounterModelTest, NoUpdateIsLost) {
//     const Model::Result result = Model().Explore([](ModelRun& run) {
//       csp::internal::Atomic<int> counter{0};        // model_atomic.h
//       run.Thread([&] { counter.fetch_add(1); });
//       run.Thread([&] { counter.fetch_add(1); });
//       run.Join();
//       run.Check(counter.load() == 2, "an update was lost");
//     });
//     EXPECT_TRUE(result.ok) << result;               // prints the schedule
//   }
//
// The body is called once for each execution. It builds the state, starts the
// threads and lets them run in Join; every access of an atomic in a model
// thread is a point where another thread may go first, and the explorer walks
// all these choices depth-first, repeating the body for each.
//
// What is explored
//  1. Memory::kSequential: sequential consistency, whatever order an access
//     names.
//  2. Memory::kStoreBuffers: also what a store buffer does (x86-TSO). A store
//     that is not seq_cst may become visible after any number of the same
//     thread's later loads; a seq_cst store and every read-modify-write empty
//     the buffer first; HeavyBarrier (asymmetric.h) empties those of all
//     threads. Loads are never delayed.
//  3. In both, ModelPlain<T> variables are checked for data races by C++'s
//     rules, which do use the orders named: a relaxed store where a release is
//     needed is found by what it fails to publish.
//  Not modelled: what weaker processors add (stale loads, a store moved before
//  an acq_rel update's own).
//
// Rules for a model
//  1. It is deterministic but for the order of its accesses: no time, no random
//     numbers, no addresses as keys; Choose gives a choice. The explorer
//     notices a run that does not repeat, and fails.
//  2. State that is not atomic is guarded by what is (ModelPlain checks that),
//     or belongs to one thread. What a thread has to report, it writes to a
//     variable of its own: two threads appending to one vector would see orders
//     that are merged (Options::merge_equivalent).
//  3. A loop that waits calls CpuRelax, which waits until something that the
//     loop has read since its last turn was changed. That makes the loop finite
//     and a wait that nobody ends a deadlock. A loop that gives up after n
//     turns must be given n = 0.
//  4. No other means of blocking; no OS threads.
//  5. A failed execution is abandoned: its threads are not unwound, its memory
//     is kept until the process ends.
#ifndef CSP_TESTING_MODEL_H_
#define CSP_TESTING_MODEL_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>

#include "csp/testing/internal/model_hooks.h"

namespace csp::testing {

namespace internal {
class ModelExecution;
}  // namespace internal

// One execution, as its body sees it. All members may be called by the body;
// Choose, Check and Fail by the threads as well.
class ModelRun {
 public:
  explicit ModelRun(internal::ModelExecution* execution) : execution_(execution) {}
  ModelRun(const ModelRun&) = delete;
  ModelRun& operator=(const ModelRun&) = delete;

  // Adds a thread, which starts in Join. At most 7. What leaves `body` as an
  // exception fails the execution.
  void Thread(std::function<void()> body);
  void Thread(std::string name, std::function<void()> body);

  // Runs the threads added until all have ended; everything they did happens
  // before its return. May be followed by more threads and another Join.
  void Join();

  // Returns each of 0 ... ways - 1, in executions of their own.
  int Choose(int ways);

  // Ends the exploration if `ok` is false. (Does not throw: the code under test
  // may be noexcept.)
  void Check(bool ok, const char* what, const char* file = __builtin_FILE(),
             int line = __builtin_LINE());
  [[noreturn]] void Fail(const std::string& what);

  // Lets a failure's schedule call `object` and what is in it by a name.
  template <class T>
  void Name(const T& object, std::string name) {
    NameRange(&object, sizeof(T), std::move(name));
  }

 private:
  void NameRange(const void* begin, std::size_t size, std::string name);

  internal::ModelExecution* const execution_;
};

class Model {
 public:
  enum class Memory { kSequential, kStoreBuffers };

  struct Options {
    Memory memory = Memory::kSequential;

    // Explores once what differs only in the order of steps that do not touch
    // the same variable. Nothing is lost to a model that keeps the rules above.
    // False: each interleaving by itself, for models whose number is known.
    bool merge_equivalent = true;

    // How often, in one execution, a thread that could go on may be passed over for another, or go
    // on while a store of its own is not yet visible; -1: any number of times. For models too large
    // otherwise: most faults need one or two.
    int max_preemptions = -1;

    // How many weak compare-exchanges may fail by themselves in one execution.
    int spurious_failures = 0;

    // Beyond these the exploration fails: nothing has been proved.
    std::uint64_t max_executions = 2'000'000;
    std::uint64_t max_steps = 5'000;  // of one execution: a livelock
  };

  struct Result {
    bool ok = false;
    std::string failure;           // with the schedule that leads there
    std::uint64_t executions = 0;  // that were run, to the end or the failure
    std::uint64_t merged = 0;      // of these, how many ended on known ground
    std::uint64_t states = 0;      // different ones; 0 without merging
    std::uint64_t max_depth = 0;   // the steps of the longest execution
  };

  Model();
  explicit Model(const Options& options);

  // Not from two threads of a process at a time.
  Result Explore(const std::function<void(ModelRun&)>& body) const;

 private:
  const Options options_;
};

// The counts, and the failure if there is one.
std::ostream& operator<<(std::ostream& out, const Model::Result& result);

// A variable that is not atomic. Two accesses, one of them a write, that are
// not ordered by happens-before fail the execution, in whatever order they
// happened to run; so does its destruction before another thread's access.
template <class T>
class ModelPlain {
 public:
  ModelPlain() : value_() {}
  explicit ModelPlain(T value) : value_(std::move(value)) { internal::PlainWrite(slot_, this); }
  ~ModelPlain() { internal::PlainWrite(slot_, this); }
  ModelPlain(const ModelPlain&) = delete;
  ModelPlain& operator=(const ModelPlain&) = delete;

  const T& Read() const {
    internal::PlainRead(slot_, this);
    return value_;
  }
  void Write(T value) {
    internal::PlainWrite(slot_, this);
    value_ = std::move(value);
  }

 private:
  T value_;
  mutable internal::PlainSlot slot_;
};

}  // namespace csp::testing

#endif  // CSP_TESTING_MODEL_H_
