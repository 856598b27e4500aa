// csp/select/cancel_signal under every interleaving: binding and unbinding against the signal. Who
// is bound to a signal that is set is cancelled; who has left the binding is not, and whatever
// wakes it too late does no harm.
#include <array>
#include <mutex>
#include <optional>
#include <string>

#include "csp/base/panic.h"
#include "csp/select/block.h"
#include "csp/select/cancel_signal.h"
#include "csp/select/event.h"
#include "tests/model/model_fixture.h"

namespace csp::internal {
namespace {

class Signal : public CancelSignal {
 public:
  void Set() {
    CancelSweep sweep;
    for (bool more = true; more;) {
      {
        const std::lock_guard lock(mu_);
        SetDone();
        more = !MarkBound(sweep);
      }
      sweep.Flush();
    }
  }
};

bool WaitsInVain(Event& event) {
  try {
    event.Wait();
    return false;
  } catch (const Cancelled&) {
    return true;
  }
}

using CancelSignalModelTest = ModelTest;
CSP_INSTANTIATE_MODEL(CancelSignalModelTest);

// However the signal falls in with the binding and the wait.
TEST_P(CancelSignalModelTest, WhoIsBoundIsCancelled) {
  Explore(3, [](ModelRun& run) {
    ModelParker bound(run);
    Signal signal;
    Event never;
    run.Thread("bound", [&] {
      bound.Enter();
      const CancelBinding binding(signal, &bound);
      run.Check(WaitsInVain(never), "not cancelled");
    });
    run.Thread("canceller", [&] { signal.Set(); });
    run.Join();
    run.Check(!IsCancelled(bound), "cancelled after the binding");
    bound.CheckQuiet();
  });
}

TEST_P(CancelSignalModelTest, WhoHasLeftIsNotCancelled) {
  BothEnds ends;
  Explore(3, [&](ModelRun& run) {
    ModelParker bound(run);
    Signal signal;
    Event event;
    run.Thread("bound", [&] {
      bound.Enter();
      {
        const CancelBinding binding(signal, &bound);
        ends.Saw(IsCancelled(bound));
      }
      run.Check(!IsCancelled(bound), "cancelled after the binding");
      run.Check(!WaitsInVain(event), "a wait is cancelled after the binding");
    });
    run.Thread("canceller", [&] {
      signal.Set();
      event.Set();
    });
    run.Join();
    run.Check(!IsCancelled(bound), "cancelled at the end");
    bound.CheckQuiet();
  });
}

// Leaving the inner binding does not wipe out what the outer signal has set, nor the task's own
// cancellation.
TEST_P(CancelSignalModelTest, TheOuterSignalStays) {
  Explore(2, [](ModelRun& run) {
    ModelParker bound(run);
    Signal outer;
    Signal inner;
    Event never;
    run.Thread("bound", [&] {
      bound.Enter();
      const CancelBinding outer_binding(outer, &bound);
      { const CancelBinding inner_binding(inner, &bound); }
      run.Check(WaitsInVain(never), "not cancelled");
    });
    run.Thread("inner's", [&] { inner.Set(); });
    run.Thread("outer's", [&] { outer.Set(); });
    run.Join();
    run.Check(!IsCancelled(bound), "cancelled after the bindings");
    bound.CheckQuiet();
  });
}

TEST_P(CancelSignalModelTest, TheTasksOwnCancellationStays) {
  Explore(2, [](ModelRun& run) {
    ModelParker bound(run);
    Signal signal;
    Event never;
    run.Thread("bound", [&] {
      bound.Enter();
      { const CancelBinding binding(signal, &bound); }
      run.Check(WaitsInVain(never), "not cancelled");
    });
    run.Thread("signal's", [&] { signal.Set(); });
    run.Thread("task's", [&] { run.Check(CancelParker(bound, ModelParker::kTask), "refused"); });
    run.Join();
    run.Check(IsCancelled(bound), "the task is cancelled no longer");
    bound.CheckQuiet();
  });
}

// More than a sweep has room for.
TEST_P(CancelSignalModelTest, ASignalCancelsMany) {
  Explore(1, [](ModelRun& run) {
    std::array<ModelParker, 3> bound{ModelParker(run), ModelParker(run), ModelParker(run)};
    Signal signal;
    Event never;
    for (int i = 0; i < 3; ++i) {
      run.Thread("bound " + std::to_string(i), [&, i] {
        bound[i].Enter();
        const CancelBinding binding(signal, &bound[i]);
        run.Check(WaitsInVain(never), "not cancelled");
      });
    }
    run.Thread("canceller", [&] { signal.Set(); });
    run.Join();
    for (ModelParker& one : bound) one.CheckQuiet();
  });
}

// Commit beats cancel: a wait that has happened returns, whatever was signalled meanwhile.
TEST_P(CancelSignalModelTest, TheEventOrTheSignal) {
  BothEnds ends;
  Explore(2, [&](ModelRun& run) {
    ModelParker bound(run);
    Signal signal;
    Event event;
    run.Thread("bound", [&] {
      bound.Enter();
      const CancelBinding binding(signal, &bound);
      const bool cancelled = WaitsInVain(event);
      if (cancelled) run.Check(signal.done(), "cancelled by nobody");
      if (!cancelled) run.Check(event.is_set(), "woken by nobody");
      ends.Saw(cancelled);
    });
    run.Thread("canceller", [&] { signal.Set(); });
    run.Thread("setter", [&] { event.Set(); });
    run.Join();
    bound.CheckQuiet();
  });
}

}  // namespace
}  // namespace csp::internal
