#include "csp/testing/model.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "csp/testing/internal/model_execution.h"

namespace csp::testing {

using internal::ModelExecution;

namespace {

// Failed executions: their threads still refer to what they own.
void KeepForEver(std::unique_ptr<ModelExecution> execution) {
  static auto* kept = new std::vector<std::unique_ptr<ModelExecution>>;
  kept->push_back(std::move(execution));
}

// While it lives, an abort (an assert of the code under test, a lock taken in
// the wrong order) prints the schedule that has led to it.
class ScheduleOnAbort {
 public:
  ScheduleOnAbort() : old_(std::signal(SIGABRT, &Print)) {}
  ~ScheduleOnAbort() { std::signal(SIGABRT, old_); }
  ScheduleOnAbort(const ScheduleOnAbort&) = delete;
  ScheduleOnAbort& operator=(const ScheduleOnAbort&) = delete;

 private:
  // abort() is called by the program, not in the middle of anything, so this
  // may allocate; once the handler returns, abort() ends the process.
  static void Print(int) {
    ModelExecution* execution = ModelExecution::Current();
    if (execution == nullptr) return;
    std::fprintf(stderr, "aborted in a model; schedule:\n%s",
                 execution->trace().Schedule().c_str());
  }

  void (*const old_)(int);
};

}  // namespace

void ModelRun::Thread(std::function<void()> body) { Thread("", std::move(body)); }
void ModelRun::Thread(std::string name, std::function<void()> body) {
  execution_->AddThread(std::move(name), std::move(body));
}
void ModelRun::Join() { execution_->Join(); }
int ModelRun::Choose(int ways) { return execution_->Choose(ways); }

void ModelRun::Check(bool ok, const char* what, const char* file, int line) {
  if (ok) return;
  Fail(std::string(file) + ":" + std::to_string(line) + ": " + what);
}
void ModelRun::Fail(const std::string& what) { execution_->Fail(what); }

void ModelRun::NameRange(const void* begin, std::size_t size, std::string name) {
  execution_->trace().NameRange(begin, size, std::move(name));
}

Model::Model() : Model(Options()) {}
Model::Model(const Options& options) : options_(options) {}

Model::Result Model::Explore(const std::function<void(ModelRun&)>& body) const {
  const ScheduleOnAbort schedule_on_abort;
  auto execution = std::make_unique<ModelExecution>(options_);
  Result result;
  for (bool more = true; more;) {
    result.ok = execution->Run(body);
    ++result.executions;
    if (execution->merged()) ++result.merged;
    result.max_depth = std::max(result.max_depth, execution->steps());
    if (!result.ok) {
      result.failure = execution->failure();
      break;
    }
    more = execution->path().Advance();
    if (more && result.executions == options_.max_executions) {
      result.ok = false;
      result.failure =
          "not explored: there are more executions than max_executions. Make "
          "the model smaller, or bound its preemptions.\n";
      break;
    }
  }
  result.states = execution->states();
  if (!result.ok) KeepForEver(std::move(execution));
  return result;
}

std::ostream& operator<<(std::ostream& out, const Model::Result& result) {
  out << (result.ok ? "no failure in " : "failure after ") << result.executions << " executions ("
      << result.merged << " merged, " << result.states << " states, at most " << result.max_depth
      << " steps)";
  if (!result.ok) out << "\n" << result.failure;
  return out;
}

}  // namespace csp::testing
