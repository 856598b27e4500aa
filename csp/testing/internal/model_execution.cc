#include "csp/testing/internal/model_execution.h"

#include <cstdlib>
#include <exception>
#include <utility>

namespace csp::testing::internal {
namespace {

// Model threads all live on the OS thread that explores; there is one
// exploration at a time.
constinit ModelExecution* current = nullptr;

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
  while (!failed_) {
    CollectActions();
    if (actions_.empty()) {
      const std::string waiting = WhoWaits();
      if (!waiting.empty()) SetFailure("deadlock\n" + waiting);
      return;
    }
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

// The thread that took the last step comes first, so that the walk begins with
// few switches; stores become visible last, so that it begins with late ones.
void ModelExecution::CollectActions() {
  actions_.clear();
  bool others = true;
  if (last_ != 0 && CanStep(last_)) {
    actions_.push_back({last_, false});
    others = threads_[last_]->next == ModelOp::kRelax || preemptions_ != options_.max_preemptions;
  }
  for (int i = 1; i < thread_count_ && others; ++i) {
    if (i != last_ && CanStep(i)) actions_.push_back({i, false});
  }
  for (int i = 1; i < thread_count_; ++i) {
    if (memory_.buffering(i)) actions_.push_back({i, true});
  }
}

int ModelExecution::Pick() {
  if (merged_) return 0;
  if (options_.merge_equivalent && path_.new_ground() && !states_.insert(Key()).second) {
    // All that can follow is known. The execution is run to its end all the
    // same, for that is how its threads free what they hold.
    merged_ = true;
    return 0;
  }
  return path_.Next(static_cast<int>(actions_.size()));
}

std::uint64_t ModelExecution::Key() const {
  std::uint64_t key = memory_.hash();
  for (int i = 0; i < thread_count_; ++i) {
    key = MixHash(key, threads_[i]->history);
    key = MixHash(key, threads_[i]->drained);
  }
  if (options_.max_preemptions >= 0) {
    key = MixHash(key, static_cast<std::uint64_t>(last_));
    key = MixHash(key, static_cast<std::uint64_t>(preemptions_));
  }
  return key;
}

void ModelExecution::Perform(const Action& action) {
  const int number = action.thread;
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
  if (last_ != 0 && last_ != number && CanStep(last_) && threads_[last_]->next != ModelOp::kRelax) {
    ++preemptions_;
  }
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
