// The end of a csp/task scope under every interleaving: a child's last touch of the scope against the
// parent, who waits for it and then goes with his frame; and whoever cancels meanwhile.
#include <array>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>

#include "csp/cls/fiber_locals.h"
#include "csp/sched/runtime.h"
#include "csp/select/event.h"
#include "csp/task/panic_handler.h"
#include "csp/task/scope.h"
#include "csp/time/internal/timed_task.h"
#include "csp/time/time.h"
#include "tests/model/model_fixture.h"

namespace csp {

// What the rooms around would do.

absl::Time Now() { std::abort(); }  // no deadlines here

namespace internal {

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
void ThrowEmptyFunction(const char*) { std::abort(); }
Runtime* Runtime::OfCaller() { return nullptr; }
TimedTask::TimedTask(const char*, const void*) {}
bool TimedTask::Start(std::int64_t) { std::abort(); }
bool TimedTask::Stop() { std::abort(); }
Timer::Fired TimedTask::Fire() noexcept { return {}; }
void TimedTask::Orphaned() noexcept {}
void TimedTask::EndRun() noexcept {}

// The child that has been started, for the model thread that runs it.
Atomic<TaskState*>* spawned = nullptr;
void SpawnTask(TaskState* task) {
  task->number = ModelParker::kTask;
  spawned->store(task, std::memory_order_release);
}
void SpawnTask(const GoOptions&, TaskState*) { std::abort(); }

namespace {

using ScopeModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(ScopeModelTest);

// A parent and the child that it starts, as a worker runs it.
class Family {
 public:
  explicit Family(ModelRun& run) : actors_(run) {
    spawned = &child_;
    panics = 0;
  }

  void Start(const std::function<void()>& parent) {
    actors_.Start("parent", parent);
    actors_.Start("child", [this] {
      TaskState* task = AwaitChild();
      static_cast<TaskRecord*>(task)->Run();
      const Shield shield;
      static_cast<TaskRecord*>(task)->Finished();
    });
  }

  TaskState* AwaitChild() {
    TaskState* task;
    while ((task = child_.load(std::memory_order_acquire)) == nullptr) CpuRelax();
    return task;
  }

  Actors<2>& actors() { return actors_; }
  ModelParker& parent() { return actors_[0]; }

  void Join() { actors_.Join(); }

 private:
  Actors<2> actors_;
  Atomic<TaskState*> child_{nullptr};
};

// What the child borrows: destroyed by the parent after the scope, a race if the child still is at
// it.
using Frame = ModelPlain<int>;

TEST_P(ScopeModelTest, TheFrameOutlivesTheChild) {
  Explore(3, [](ModelRun& run) {
    Family family(run);
    family.Start([&] {
      Frame frame;
      {
        Scope scope;
        scope.Go([&] { frame.Write(1); });
        scope.Join();
        run.Check(scope.running() == 0, "the child is there still");
      }
      run.Check(frame.Read() == 1, "the child has not run");
    });
    family.Join();
    run.Check(panics == 0, "nobody has failed");
  });
}

// Nobody joins: the destructor cancels and waits. The child has been cut short, or not.
TEST_P(ScopeModelTest, ADestructorWaitsForTheChild) {
  BothEnds done;
  Explore(1, [&](ModelRun& run) {
    Family family(run);
    Event event;
    int result = 0;
    family.Start([&] {
      Frame frame;
      {
        Scope scope;
        scope.Go([&] {
          frame.Write(1);
          event.Wait();
          frame.Write(2);
        });
      }
      result = frame.Read();
    });
    run.Thread("setter", [&] { event.Set(); });
    family.Join();
    run.Check(panics == 0, "nobody has failed");
    done.Saw(result == 2);
  });
}

// The child comes to its end, or is cut short by whoever cancels the scope; the parent ends in
// either case, and is cancelled no longer.
TEST_P(ScopeModelTest, ACancellationMeetsTheChildsEnd) {
  BothEnds ended;
  Explore(1, [&](ModelRun& run) {
    Family family(run);
    Event ready;
    ready.Set();
    std::optional<CancelToken> token;
    bool cut = false;
    family.Start([&] {
      Frame frame;
      WithScope([&](Scope& scope) {
        token.emplace(scope.token());
        scope.Go([&] {
          frame.Write(1);
          cut = !NotCancelled([&] { ready.Wait(); });
          frame.Write(2);
        });
      });
      run.Check(!IsCancelled(family.parent()), "the parent is cancelled after the scope");
      const int wrote = frame.Read();
      run.Check(wrote == 2 || (wrote == 0 && token->cancelled()), "it has lost its way");
    });
    run.Thread("canceller", [&] {
      (void)family.AwaitChild();
      token->node()->Cancel(absl::CancelledError());
    });
    family.Join();
    ended.Saw(!cut);
  });
}

// It ends the parent's wait, and is the one that is thrown, before any that it causes.
TEST_P(ScopeModelTest, AFailureEndsTheParentsWait) {
  Explore(2, [](ModelRun& run) {
    Family family(run);
    Event never;
    bool thrown = false;
    family.Start([&] {
      Frame frame;
      try {
        WithScope([&](Scope& scope) {
          scope.Go([&] {
            frame.Write(1);
            throw std::runtime_error("model");
          });
          if (!NotCancelled([&] { never.Wait(); })) throw std::logic_error("caused by it");
        });
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      run.Check(frame.Read() == 1, "the child has not run");
      run.Check(!IsCancelled(family.parent()), "the parent is cancelled after the scope");
    });
    family.Join();
    run.Check(thrown && panics == 1, "not the first, or the other has gone unheard");
  });
}

// The parent's own cancellation, while it waits for the child: it waits on, shielded, and throws
// Cancelled only then.
TEST_P(ScopeModelTest, ACancelledParentWaitsForTheChild) {
  Explore(1, [](ModelRun& run) {
    Family family(run);
    family.Start([&] {
      Frame frame;
      (void)NotCancelled([&] {
        WithScope([&](Scope& scope) { scope.Go([&] { frame.Write(1); }); });
        run.Check(frame.Read() == 1, "a scope that was cut short has returned");
      });
    });
    run.Thread("canceller", [&] { CancelParker(family.parent(), ModelParker::kTask); });
    family.Join();
    run.Check(panics == 0, "nobody has failed");
  });
}

}  // namespace
}  // namespace internal
}  // namespace csp
