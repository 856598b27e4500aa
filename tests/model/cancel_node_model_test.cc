// csp/cancel/internal/cancel_node under every interleaving: a tree that is cancelled while nodes
// come and go, hooks that are taken off meanwhile, and a deadline that comes as the node goes.
// Every node is destroyed (under ASan: once, and not touched afterwards).
#include <cstdlib>
#include <optional>
#include <utility>

#include "csp/base/panic.h"
#include "csp/cancel/internal/cancel_node.h"
#include "csp/cancel/internal/deadline_timer.h"
#include "csp/select/block.h"
#include "csp/select/event.h"
#include "csp/select/select.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {

// What the rooms below would do.

TaskRecord* armed = nullptr;

TimedTask::TimedTask(const char*, const void*) {}
bool TimedTask::Start(std::int64_t) {
  AddReference();
  armed = this;
  return false;
}
bool TimedTask::Stop() { return false; }  // the model's fires in any case
Timer::Fired TimedTask::Fire() noexcept { return {}; }
void TimedTask::Orphaned() noexcept {}
void TimedTask::EndRun() noexcept { Release(); }
void DestroyLocals(void*&) { std::abort(); }
void DestroyPoolThreadLocals() {}

namespace {

using CancelNodeModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(CancelNodeModelTest);

const absl::Status kWhy = absl::AbortedError("model");

TEST_P(CancelNodeModelTest, AChildIsSetOrGone) {
  BothEnds ends;
  Explore(3, [&](ModelRun& run) {
    const CancelNode::Ref root = CancelNode::Make({});
    CancelNode::Ref child = CancelNode::Make(root);
    run.Thread("owner", [&] {
      ends.Saw(child->done());
      child = {};
    });
    run.Thread("canceller", [&] { run.Check(root->Cancel(kWhy), "refused"); });
    run.Join();
    run.Check(root->done(), "the root is not set");
  });
}

TEST_P(CancelNodeModelTest, AChildThatComesMeanwhileIsSet) {
  Explore(3, [](ModelRun& run) {
    const CancelNode::Ref root = CancelNode::Make({});
    CancelNode::Ref child;
    run.Thread("owner", [&] { child = CancelNode::Make(root); });
    run.Thread("canceller", [&] { root->Cancel(kWhy); });
    run.Join();
    run.Check(child->done(), "the child is not set");
    run.Check(child->cause() == kWhy, "another cause");
  });
}

// The node in between goes; what is below it is set all the same.
TEST_P(CancelNodeModelTest, AMiddleThatGoesPassesOn) {
  Explore(2, [](ModelRun& run) {
    const CancelNode::Ref root = CancelNode::Make({});
    CancelNode::Ref middle = CancelNode::Make(root);
    const CancelNode::Ref leaf = CancelNode::Make(middle);
    run.Thread("owner", [&] { middle = {}; });
    run.Thread("canceller", [&] { root->Cancel(kWhy); });
    run.Join();
    run.Check(leaf->done(), "the leaf is not set");
  });
}

// Two cancel, one above the other.
TEST_P(CancelNodeModelTest, EachNodeIsSetOnce) {
  BothEnds ends;
  Explore(2, [&](ModelRun& run) {
    const CancelNode::Ref root = CancelNode::Make({});
    const CancelNode::Ref child = CancelNode::Make(root);
    const CancelNode::Ref grandchild = CancelNode::Make(child);
    bool first = false;
    run.Thread("above", [&] { run.Check(root->Cancel(kWhy), "the root was set before"); });
    run.Thread("below", [&] { first = child->Cancel(absl::InternalError("below")); });
    run.Join();
    run.Check(child->cause() == (first ? absl::InternalError("below") : kWhy), "another cause");
    run.Check(grandchild->done(), "the grandchild is not set");
    ends.Saw(first);
  });
}

class Hook final : public CancelHook {
 public:
  explicit Hook(ModelRun& run) : run_(run) {}
  void Call() noexcept override {
    run_.Check(!stopped.Read(), "called after it was stopped");
    calls.Write(calls.Read() + 1);
  }
  ModelPlain<int> calls{0};
  ModelPlain<bool> stopped{false};

 private:
  ModelRun& run_;
};

TEST_P(CancelNodeModelTest, AHookIsCalledOrTakenOff) {
  BothEnds ends;
  Explore(3, [&](ModelRun& run) {
    const CancelNode::Ref root = CancelNode::Make({});
    ModelParker owner(run);
    ModelParker canceller(run);
    run.Thread("owner", [&] {
      owner.Enter();
      Hook hook(run);
      if (!root->Register(hook)) return;
      const bool off = root->Unregister(hook);
      if (off) hook.stopped.Write(true);
      run.Check(hook.calls.Read() == (off ? 0 : 1), "called, or not, against its word");
      ends.Saw(off);
    });
    run.Thread("canceller", [&] {
      canceller.Enter();
      root->Cancel(kWhy);
    });
    run.Join();
  });
}

class DropHook final : public CancelHook {
 public:
  void Call() noexcept override { ++called; }
  void Dropped() noexcept override { ++dropped; }
  int called = 0;
  int dropped = 0;
};

TEST_P(CancelNodeModelTest, AHookThatNobodyTakesOffIsCalledOrDropped) {
  Explore(3, [](ModelRun& run) {
    CancelNode::Ref root = CancelNode::Make({});
    CancelNode::Ref child = CancelNode::Make(root);
    DropHook hook;
    child->Register(hook);
    run.Thread("owner", [&] { child = {}; });
    run.Thread("canceller", [&] { root->Cancel(kWhy); });
    run.Join();
    run.Check(hook.called + hook.dropped == 1, "neither, or both");
  });
}

class DoneAlone final : public CancelNode::DoneCase {
 public:
  using DoneCase::DoneCase;
};

TEST_P(CancelNodeModelTest, WhoWaitsIsWoken) {
  Explore(2, [](ModelRun& run) {
    ModelParker waiter(run);
    const CancelNode::Ref root = CancelNode::Make({});
    const CancelNode::Ref child = CancelNode::Make(root);
    run.Thread("waiter", [&] {
      waiter.Enter();
      DoneAlone done(child);
      Block(done);
    });
    run.Thread("canceller", [&] { root->Cancel(kWhy); });
    run.Join();
    waiter.CheckQuiet();
  });
}

// A fiber bound to a child of what is cancelled, as the child goes with its binding.
TEST_P(CancelNodeModelTest, ABoundChildMayGoMeanwhile) {
  Explore(2, [](ModelRun& run) {
    ModelParker bound(run);
    const CancelNode::Ref root = CancelNode::Make({});
    run.Thread("bound", [&] {
      bound.Enter();
      const CancelNode::Ref child = CancelNode::Make(root);
      const CancelBinding binding(*child, &bound);
    });
    run.Thread("canceller", [&] { root->Cancel(kWhy); });
    run.Join();
    run.Check(!SaysCancelled(bound.words.cancel.load()), "cancelled after the binding");
    bound.CheckQuiet();
  });
}

// A select that names the token of its scope: the case tells it of a cancellation, also of one from
// further out, whose mark comes first.
TEST_P(CancelNodeModelTest, ASelectIsToldByItsCase) {
  BothEnds ends;
  Explore(2, [&](ModelRun& run) {
    ModelParker bound(run);
    const CancelNode::Ref outer = CancelNode::Make({});
    const CancelNode::Ref inner = CancelNode::Make(outer);
    Event event;
    run.Thread("bound", [&] {
      bound.Enter();
      const CancelBinding outer_binding(*outer, &bound);
      const CancelBinding inner_binding(*inner, &bound);
      Event::WaitEvent happens(event);
      DoneAlone done(inner);
      Case* const cases[] = {&happens, &done};
      const int won = RunSelect(cases, 2, Order::kFair, /*has_default=*/false);
      run.Check(won == 0 ? event.is_set() : inner->done(), "it has not happened");
      ends.Saw(won == 1);
    });
    run.Thread("canceller", [&] { outer->Cancel(kWhy); });
    run.Thread("setter", [&] { event.Set(); });
    run.Join();
    bound.CheckQuiet();
  });
}

// But not of the task's own.
TEST_P(CancelNodeModelTest, ASelectIsToldOfItsTasksCancellation) {
  Explore(2, [](ModelRun& run) {
    ModelParker bound(run);
    const CancelNode::Ref node = CancelNode::Make({});
    const CancelNode::Ref never = CancelNode::Make({});
    bool told = false;
    run.Thread("bound", [&] {
      bound.Enter();
      const CancelBinding binding(*node, &bound);
      DoneAlone done(node);
      DoneAlone other(never);
      Case* const cases[] = {&other, &done};
      try {
        run.Check(RunSelect(cases, 2, Order::kFair, /*has_default=*/false) == 1, "the other");
        told = true;
      } catch (const Cancelled&) {
        told = true;
      }
    });
    run.Thread("task's", [&] { CancelParker(bound, ModelParker::kTask); });
    run.Thread("token's", [&] {
      if (run.Choose(2) == 1) node->Cancel(kWhy);
    });
    run.Join();
    run.Check(told, "it waits on");
    bound.CheckQuiet();
  });
}

TEST_P(CancelNodeModelTest, ADeadlineComesAsTheNodeGoes) {
  Explore(3, [](ModelRun& run) {
    ModelParker clock(run);
    const CancelNode::Ref root = CancelNode::Make({});
    CancelNode::Ref child = CancelNode::Make(root, 10);
    TaskRecord* deadline = std::exchange(armed, nullptr);
    run.Thread("owner", [&] { child = {}; });
    run.Thread("clock", [&] {
      clock.Enter();
      deadline->Run();
      deadline->Finished();
    });
    run.Join();
    run.Check(!root->done(), "the root is set");
  });
}

}  // namespace
}  // namespace csp::internal
