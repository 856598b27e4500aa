// csp/task/task_state under every interleaving: a task's end against its handle's. It is destroyed
// once, by the last to let go (under ASan a touch after that shows as well), the result is seen,
// and a failure is told once.
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "csp/base/panic.h"
#include "csp/cls/fiber_locals.h"
#include "csp/select/block.h"
#include "csp/task/panic_handler.h"
#include "csp/task/task_state.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {

// What the rooms below would do.

int panics = 0;
void ReportPanic(Runtime*, std::uint64_t, const char*, const void*, std::exception_ptr) {
  ++panics;
}
void* AllocateRecord(std::size_t bytes) { return ::operator new(bytes); }
void ReleaseRecord(void* record, std::size_t /*bytes*/) noexcept { ::operator delete(record); }
void DestroyLocals(void*&) { std::abort(); }
void DropInheritedLocals(void*) {}
void DestroyPoolThreadLocals() {}
void ThrowSelfJoin(const char*) { std::abort(); }

namespace {

// What the task leaves behind; the last one to have it counts.
class Result {
 public:
  explicit Result(int& destroyed) : destroyed_(&destroyed) { value_.Write(42); }
  Result(Result&& other) noexcept : destroyed_(std::exchange(other.destroyed_, nullptr)) {
    value_.Write(other.value_.Read());
  }
  ~Result() {
    if (destroyed_ != nullptr) ++*destroyed_;
  }
  int value() const { return value_.Read(); }

 private:
  int* destroyed_;
  ModelPlain<int> value_{0};
};

template <class F>
auto* MakeTask(F closure) {
  using R = std::invoke_result_t<F>;
  ResultState<R>* task = new ClosureState<F, R>(true, std::move(closure));
  task->number = 77;
  return task;
}

// As a worker runs it.
void RunToTheEnd(TaskRecord& task, ModelParker& self) {
  self.Enter();
  task.Run();
  const Shield shield;
  task.Finished();
}

using TaskStateModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(TaskStateModelTest);

TEST_P(TaskStateModelTest, AJoinGetsTheResult) {
  Explore(-1, [](ModelRun& run) {
    ModelParker worker(run);
    ModelParker joiner(run);
    int destroyed = 0;
    auto* task = MakeTask([&] { return Result(destroyed); });
    run.Thread("worker", [&] { RunToTheEnd(*task, worker); });
    run.Thread("joiner", [&] {
      joiner.Enter();
      task->AwaitDone();
      task->Rethrow();
      run.Check(task->TakeResult().value() == 42, "another result");
      task->Detach();
    });
    run.Join();
    run.Check(destroyed == 1, "the result is not destroyed once");
    joiner.CheckQuiet();
  });
}

TEST_P(TaskStateModelTest, ADetachedTaskIsDestroyedByWhoComesLast) {
  Explore(-1, [](ModelRun& run) {
    ModelParker worker(run);
    ModelParker owner(run);
    int destroyed = 0;
    auto* task = MakeTask([&] { return Result(destroyed); });
    run.Thread("worker", [&] { RunToTheEnd(*task, worker); });
    run.Thread("owner", [&] {
      owner.Enter();
      task->Detach();
    });
    run.Join();
    run.Check(destroyed == 1, "the result is not destroyed once");
  });
}

TEST_P(TaskStateModelTest, AFailureIsToldOnce) {
  Explore(-1, [](ModelRun& run) {
    ModelParker worker(run);
    ModelParker owner(run);
    panics = 0;
    int thrown = 0;
    const bool joins = run.Choose(2) == 1;
    auto* task = MakeTask([] { throw std::runtime_error("model"); });
    run.Thread("worker", [&] { RunToTheEnd(*task, worker); });
    run.Thread("owner", [&] {
      owner.Enter();
      if (joins) {
        task->AwaitDone();
        try {
          task->Rethrow();
        } catch (const std::runtime_error&) {
          ++thrown;
        }
      }
      task->Detach();
    });
    run.Join();
    run.Check(panics + thrown == 1, "not told once");
    run.Check(thrown == (joins ? 1 : 0), "told to another");
  });
}

TEST_P(TaskStateModelTest, ACancelledJoinLeavesTheTask) {
  BothEnds ends;
  Explore(-1, [&](ModelRun& run) {
    ModelParker worker(run);
    ModelParker joiner(run);
    int destroyed = 0;
    bool joined = false;
    auto* task = MakeTask([&] { return Result(destroyed); });
    run.Thread("worker", [&] { RunToTheEnd(*task, worker); });
    run.Thread("joiner", [&] {
      joiner.Enter();
      try {
        task->AwaitDone();
        joined = true;
      } catch (const Cancelled&) {
      }
      task->Detach();
    });
    run.Thread("canceller", [&] { CancelParker(joiner, ModelParker::kTask); });
    run.Join();
    run.Check(destroyed == 1, "the result is not destroyed once");
    joiner.CheckQuiet();
    ends.Saw(joined);
  });
}

// As a case of a select, which may lose.
class JoinAlone final : public TaskState::JoinCase {
 public:
  using JoinCase::JoinCase;
};

TEST_P(TaskStateModelTest, AJoinThatTimesOutLeavesTheTask) {
  Explore(-1, [](ModelRun& run) {
    ModelParker worker(run);
    ModelParker joiner(run);
    ModelTime time;
    int destroyed = 0;
    auto* task = MakeTask([&] { return Result(destroyed); });
    run.Thread("worker", [&] { RunToTheEnd(*task, worker); });
    run.Thread("joiner", [&] {
      joiner.Enter();
      {
        JoinAlone join(task);
        if (BlockUntil(join, 10)) run.Check(task->done(), "joined before the end");
      }
      task->Detach();
    });
    run.Thread("clock", [&] { time.Pass(10); });
    run.Join();
    run.Check(destroyed == 1, "the result is not destroyed once");
    joiner.CheckQuiet();
  });
}

}  // namespace
}  // namespace csp::internal
