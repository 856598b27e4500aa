// One execution of a model: its threads, and who takes the next step.
//
// A thread stands before its next access of an atomic. The explorer looks at
// what each may do, lets the path choose, and resumes that one, which does the
// access and runs on to its next.
//
// Invariants
//  1. Between two steps only the resumed thread runs: an access and the code up
//     to the next access are one atomic step. Code between accesses touches
//     only what its thread owns or holds (rule 2 of model.h), so nothing is
//     lost by not interrupting it.
//  2. A thread's state follows from its history: which write each of its reads
//     has read from, and what it was told to choose. Memory invariant 2 has the
//     rest; together they are the key by which equivalent states are merged
//     (after Musuvathi and Qadeer's happens-before caching).
//  3. Of two actions next to each other that touch different variables only one order is walked
//     (SkipEquivalent); what still leads to a known state is merged.
//  4. In store-buffer mode, that a buffered store becomes visible is a step of
//     its own, whatever its thread is doing; the store itself is none, for
//     nobody else notices it.
#ifndef CSP_TESTING_INTERNAL_MODEL_EXECUTION_H_
#define CSP_TESTING_INTERNAL_MODEL_EXECUTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "csp/testing/internal/model_fiber.h"
#include "csp/testing/internal/model_memory.h"
#include "csp/testing/internal/model_path.h"
#include "csp/testing/internal/model_trace.h"
#include "csp/testing/model.h"

namespace csp::testing::internal {

class ModelExecution {
 public:
  explicit ModelExecution(const Model::Options& options);

  // The one that is running; null outside of Run.
  static ModelExecution* Current();

  // Executes the model along the path. False if it failed: this object must
  // then be kept for ever, and not run again.
  bool Run(const std::function<void(ModelRun&)>& body);

  // For the model's body and its threads; see ModelRun.
  void AddThread(std::string name, std::function<void()> body);
  void Join();
  int Choose(int ways);
  [[noreturn]] void Fail(const std::string& what);
  ModelTrace& trace() { return trace_; }

  // For the atomics; see model_hooks.h.
  std::uint64_t Load(const AtomicRef& atomic, std::memory_order order);
  void Store(const AtomicRef& atomic, std::uint64_t bits, std::memory_order order);
  void BeginUpdate(const AtomicRef& atomic, ModelOp op);
  void EndUpdate(const AtomicRef& atomic, std::uint64_t old, bool wrote, std::memory_order order);
  bool FailsSpuriously();
  void Destroyed(const AtomicRef& atomic);
  void Relax();
  void HeavyBarrier();
  void PlainAccess(PlainSlot& slot, const void* address, bool write);

  const std::string& failure() const { return failure_; }
  std::uint64_t steps() const { return steps_; }
  bool merged() const { return merged_; }
  std::uint64_t states() const { return states_.size(); }
  ModelPath& path() { return path_; }

 private:
  enum class State : std::uint8_t { kNew, kRunning, kEnded };

  struct Seen {
    std::uint32_t location;
    std::uint64_t bits;
  };

  struct Thread {
    ModelFiber fiber;
    std::function<void()> body;
    State state = State::kNew;
    ModelOp next = ModelOp::kNone;  // the access that it stands before,
    const void* next_address = nullptr;
    bool next_flushes = false;  // ... and whether that empties its buffer
    ModelClock clock;
    std::uint32_t steps = 0;
    std::uint64_t history = 0;
    std::uint32_t drained = 0;
    // What it has read since its last CpuRelax, and whether it found two
    // values in one variable: the loop may then behave otherwise next time.
    std::vector<Seen> seen;
    bool seen_change = false;
  };

  struct Action {
    int thread;
    bool drain;  // its oldest buffered store becomes visible, instead of a step
  };

  // Which variables an action reads and writes.
  struct Touch {
    const void* address;
    bool write;
  };

  static void ThreadMain(void* self);

  void Reset();
  void Resume(int thread);
  void RunThreads();
  void CollectActions();
  void SkipEquivalent();
  bool CouldHaveGoneFirst(const Action& action) const;
  void Touches(const Action& action, std::vector<Touch>& touches) const;
  int Preemptions(const Action& action) const;
  bool CanStep(int thread) const;
  int Pick();
  bool Known();
  std::uint64_t Key() const;
  void Perform(const Action& action);
  std::string WhoWaits() const;
  void SetFailure(const std::string& what);

  Thread& self() { return *threads_[running_]; }
  std::uint32_t Locate(const AtomicRef& atomic);
  void Point(ModelOp op, const void* address, bool flushes);
  std::uint64_t NextWrite();
  void EndStep(std::uint64_t what_it_saw);
  void DrainAll(int thread);
  void Record(ModelOp op, ModelStep::Effect effect, const AtomicRef& atomic, std::uint64_t old,
              std::uint64_t value);
  void See(std::uint32_t location, std::uint64_t bits, bool own_write);

  const Model::Options options_;
  ModelPath path_;
  absl::flat_hash_map<std::uint64_t, int> states_;  // their keys, and the fewest preemptions

  // Of the current execution.
  std::unique_ptr<Thread> threads_[kMaxModelThreads];
  int thread_count_ = 0;
  int running_ = 0;  // whose code runs; 0 is the body
  int last_ = 0;     // who took the last step
  ModelOp updating_ = ModelOp::kNone;
  bool joining_ = false;
  bool failed_ = false;
  bool merged_ = false;
  int preemptions_ = 0;
  int spurious_failures_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Action> actions_;  // that may come next
  Action done_{};                // the last one, ...
  std::vector<Touch> touched_;   // ... and what it touched
  std::vector<Action> left_;     // scratch
  mutable std::vector<Touch> touches_;
  ModelMemory memory_;
  ModelTrace trace_;
  std::string failure_;
};

}  // namespace csp::testing::internal

#endif  // CSP_TESTING_INTERNAL_MODEL_EXECUTION_H_
