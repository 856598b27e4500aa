#include "csp/task/after_done.h"

#include "csp/task/blocking_call.h"

namespace csp {
namespace internal {

AfterDoneState* AfterDoneState::Make(const CancelToken& token, TaskState* task) {
  AfterDoneState* state;
  try {
    state = new AfterDoneState(token.node(), task);
  } catch (...) {
    task->Abandon();
    throw;
  }
  if (!token.can_be_cancelled()) {
    state->Dropped();
  } else if (!token.node()->Register(*state)) {
    state->Call();
  }
  return state;
}

bool AfterDoneState::Stop() {
  if (node_ == nullptr || !node_->Unregister(*this)) return false;
  Dropped();
  return true;
}

void AfterDoneState::Call() noexcept {
  try {
    SpawnTask(task_);
  } catch (...) {
    // The runtime is shutting down; the task has been destroyed.
  }
  Release();
}

void AfterDoneState::Dropped() noexcept {
  task_->Abandon();
  Release();
}

}  // namespace internal

void StopOnDone::Request::operator()() const noexcept {
  try {
    BlockingDetached([stop = stop]() mutable { stop.request_stop(); });
  } catch (...) {
    // No thread is to be had: better here than never.
    std::stop_source(stop).request_stop();
  }
}

}  // namespace csp
