#include "csp/testing/internal/model_execution.h"

#include <cstdlib>
#include <exception>
#include <utility>

namespace csp::testing::internal {
namespace {

// Model threads all live on the OS thread that explores; there is one
// exploration at a time.
constinit ModelExecution* current = nullptr;

// As an address: all variables.
constexpr char everything = 0;
constexpr const void* kEverything = &everything;

}  // namespace

ModelExecution* ModelExecution::Current() { return current; }

ModelExecution::ModelExecution(const Model::Options& options) : options_(options) {}

bool ModelExecution::Run(const std::function<void(ModelRun&)>& body) {
  Reset();
  ModelRun run(this);
  AddThread("body", [&] { body(run); });
  current = this;
  Resume(0);
  while (joining_ && !failed_) {
    joining_ = false;
    RunThreads();
    if (!failed_) Resume(0);
  }
  if (!failed_ && threads_[thread_count_ - 1]->state == State::kNew) {
    SetFailure("a thread was added that no Join has run");
  }
  current = nullptr;
  return !failed_;
}

void ModelExecution::Reset() {
  path_.Restart();
  thread_count_ = running_ = last_ = 0;
  joining_ = merged_ = false;
  preemptions_ = spurious_failures_ = 0;
  steps_ = 0;
  memory_.Reset();
  trace_.Reset();
}

void ModelExecution::AddThread(std::string name, std::function<void()> body) {
  if (running_ != 0) Fail("only the body may add threads");
  if (thread_count_ == kMaxModelThreads) Fail("too many threads");
  if (name.empty()) name = "thread " + std::to_string(thread_count_);
  trace_.NameThread(std::move(name));
  // The stack stays with the number from one execution to the next.
  std::unique_ptr<Thread>& thread = threads_[thread_count_++];
  if (thread == nullptr) thread = std::make_unique<Thread>();
  thread->fiber.Prepare(&ThreadMain, thread.get());
  thread->body = std::move(body);
  thread->state = State::kNew;
  thread->next = ModelOp::kNone;
  thread->clock = {};
  thread->steps = thread->drained = 0;
  thread->history = 0;
  thread->seen.clear();
  thread->seen_change = false;
}

void ModelExecution::ThreadMain(void* self) {
  auto* thread = static_cast<Thread*>(self);
  thread->state = State::kRunning;
  try {
    thread->body();
  } catch (const std::exception& e) {
    current->Fail(std::string("a thread threw: ") + e.what());
  } catch (...) {
    current->Fail("a thread threw what is no std::exception");
  }
  thread->body = nullptr;
  thread->state = State::kEnded;
}

void ModelExecution::Join() {
  if (running_ != 0) Fail("only the body may join");
  joining_ = true;
  threads_[0]->fiber.Suspend();
  for (int i = 1; i < thread_count_; ++i) self().clock.Join(threads_[i]->clock);
}

void ModelExecution::Resume(int thread) {
  running_ = thread;
  threads_[thread]->fiber.Resume();
}

void ModelExecution::RunThreads() {
  Thread& body = *threads_[0];
  for (int i = 1; i < thread_count_ && !failed_; ++i) {
    Thread& thread = *threads_[i];
    if (thread.state != State::kNew) continue;
    thread.clock = body.clock;
    thread.clock.at[i] = 1;
    Resume(i);  // to its first access
  }
  ++body.clock.at[0];
  last_ = 0;
  done_ = {};
  while (!failed_) {
    CollectActions();
    if (actions_.empty()) {
      const std::string waiting = WhoWaits();
      if (!waiting.empty()) SetFailure("deadlock\n" + waiting);
      return;
    }
    SkipEquivalent();
    if (++steps_ > options_.max_steps) {
      SetFailure(
          "the execution does not end: a livelock, or a loop without "
          "CpuRelax\n" +
          WhoWaits());
      return;
    }
    const int pick = Pick();
    if (pick < 0) {
      SetFailure("the model does not repeat itself: rule 1 of model.h");
      return;
    }
    Perform(actions_[pick]);
  }
}

bool ModelExecution::CanStep(int number) const {
  const Thread& thread = *threads_[number];
  if (thread.state != State::kRunning) return false;
  if (thread.next != ModelOp::kRelax || thread.seen_change) return true;
  for (const Seen& seen : thread.seen) {
    if (memory_.alive(seen.location) && memory_.Visible(number, seen.location).bits != seen.bits) {
      return true;
    }
  }
  return false;
}

// The thread that took the last step comes first, so that the walk begins with few switches; stores
// become visible last, so that it begins with late ones.
void ModelExecution::CollectActions() {
  actions_.clear();
  auto add = [this](int thread, bool drain) {
    const Action action{thread, drain};
    if (options_.max_preemptions >= 0 &&
        preemptions_ + Preemptions(action) > options_.max_preemptions) {
      return;
    }
    actions_.push_back(action);
  };
  if (last_ != 0 && CanStep(last_)) add(last_, false);
  for (int i = 1; i < thread_count_; ++i) {
    if (i != last_ && CanStep(i)) add(i, false);
  }
  for (int i = 1; i < thread_count_; ++i) {
    if (memory_.buffering(i)) add(i, true);
  }
}

// How much an action counts against Options::max_preemptions. There always is one that counts 0: a
// store that becomes visible or, if none is buffered, a step of the last thread or of another.
int ModelExecution::Preemptions(const Action& action) const {
  if (action.drain) return 0;
  const bool passes_over = last_ != 0 && last_ != action.thread && CanStep(last_) &&
                           threads_[last_]->next != ModelOp::kRelax;
  const Thread& thread = *threads_[action.thread];
  const bool only_buffers = thread.next == ModelOp::kStore && !thread.next_flushes;
  return (passes_over ? 1 : 0) + (memory_.buffering(action.thread) && !only_buffers ? 1 : 0);
}

// Of two actions next to each other that do not meet, one order will do: that of their ranks. So an
// action is left out where it could as well have come before the last one, and had the lower rank.
//
// No state is missed. Of the actions that could be the last to lead to it, take the one of the
// highest rank: the state without it was met, by way of some last action that either is among
// those, and lower, or is not, because the two meet. In both cases the action was not left out.
void ModelExecution::SkipEquivalent() {
  if (merged_ || !options_.merge_equivalent || done_.thread == 0) return;
  std::vector<Action>& left = left_;
  left.clear();
  for (const Action& action : actions_) {
    if (!CouldHaveGoneFirst(action)) left.push_back(action);
  }
  if (left.empty()) {
    merged_ = true;
  } else {
    actions_.swap(left);
  }
}

bool ModelExecution::CouldHaveGoneFirst(const Action& action) const {
  if (action.thread == done_.thread) return false;
  // Preemptions depend on the order of steps; only that of drains is free then.
  if (options_.max_preemptions >= 0 && !action.drain) return false;
  const auto rank = [](const Action& a) { return (a.drain ? 0 : kMaxModelThreads) + a.thread; };
  if (rank(action) > rank(done_)) return false;
  touches_.clear();
  Touches(action, touches_);
  for (const Touch& a : touched_) {
    for (const Touch& b : touches_) {
      const bool same =
          a.address == b.address || a.address == kEverything || b.address == kEverything;
      if (same && (a.write || b.write)) return false;
    }
  }
  return true;
}

void ModelExecution::Touches(const Action& action, std::vector<Touch>& touches) const {
  const Thread& thread = *threads_[action.thread];
  if (action.drain) {
    touches.push_back({memory_.FirstBuffered(action.thread), true});
    return;
  }
  switch (thread.next) {
    case ModelOp::kBarrier:
      touches.push_back({kEverything, true});
      break;
    case ModelOp::kRelax:
      for (const Seen& seen : thread.seen) {
        touches.push_back({memory_.address(seen.location), false});
      }
      break;
    default:
      touches.push_back({thread.next_address, thread.next != ModelOp::kLoad});
      // They share the number of failures that are left.
      if (options_.spurious_failures > 0 && thread.next == ModelOp::kCompareExchange) {
        touches.push_back({&options_.spurious_failures, true});
      }
  }
  if (thread.next_flushes) {
    memory_.ForEachBuffered(action.thread, [&](const void* address) {
      touches.push_back({address, true});
    });
  }
}

int ModelExecution::Pick() {
  if (merged_) return 0;
  if (options_.merge_equivalent && path_.new_ground() && Known()) {
    // All that can follow is known. The execution is run to its end all the same, for that is how
    // its threads free what they hold.
    merged_ = true;
    return 0;
  }
  return path_.Next(static_cast<int>(actions_.size()));
}

// Whether an equivalent state has been met, with at least as many preemptions left; notes this one.
bool ModelExecution::Known() {
  const auto [state, is_new] = states_.try_emplace(Key(), preemptions_);
  if (is_new) return false;
  if (state->second <= preemptions_) return true;
  state->second = preemptions_;
  return false;
}

std::uint64_t ModelExecution::Key() const {
  std::uint64_t key = memory_.hash();
  for (int i = 0; i < thread_count_; ++i) {
    key = MixHash(key, threads_[i]->history);
    key = MixHash(key, threads_[i]->drained);
  }
  // Who may go on for nothing.
  if (options_.max_preemptions >= 0) key = MixHash(key, static_cast<std::uint64_t>(last_));
  return key;
}

void ModelExecution::Perform(const Action& action) {
  const int number = action.thread;
  done_ = action;
  touched_.clear();
  Touches(action, touched_);
  if (action.drain) {
    ++threads_[number]->drained;
    const auto [location, bits] = memory_.DrainOne(number);
    trace_.Add({.thread = static_cast<std::uint8_t>(number),
                .op = ModelOp::kDrain,
                .effect = ModelStep::Effect::kRead,
                .address = memory_.address(location),
                .old = 0,
                .value = bits});
    return;
  }
  if (options_.max_preemptions >= 0) preemptions_ += Preemptions(action);
  last_ = number;
  Resume(number);
}

std::string ModelExecution::WhoWaits() const {
  std::string text;
  for (int i = 1; i < thread_count_; ++i) {
    const Thread& thread = *threads_[i];
    if (thread.state == State::kEnded) continue;
    text += "  " + trace_.thread(i) + " has not ended";
    if (thread.next == ModelOp::kRelax) {
      text += "; its loop has read";
      for (const Seen& seen : thread.seen) {
        if (!memory_.alive(seen.location)) continue;
        text +=
            " " + trace_.Address(memory_.address(seen.location)) + "=" + trace_.Value(seen.bits);
      }
    }
    text += "\n";
  }
  return text;
}

void ModelExecution::SetFailure(const std::string& what) {
  if (failed_) return;
  failed_ = true;
  failure_ = what + "\nschedule:\n" + trace_.Schedule();
}

void ModelExecution::Fail(const std::string& what) {
  SetFailure(trace_.thread(running_) + ": " + what);
  threads_[running_]->fiber.Suspend();
  std::abort();  // a failed execution is not resumed
}

}  // namespace csp::testing::internal
