#include "csp/sched/internal/runtimes.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace csp::internal {
namespace {

struct Registry {
  std::mutex mu;
  std::vector<Runtime*> runtimes;
};

Registry& TheRegistry() {
  static Registry* registry = new Registry;  // outlives every static destructor
  return *registry;
}

}  // namespace

void RegisterRuntime(Runtime* runtime) {
  const std::lock_guard lock(TheRegistry().mu);
  TheRegistry().runtimes.push_back(runtime);
}

void UnregisterRuntime(Runtime* runtime) {
  const std::lock_guard lock(TheRegistry().mu);
  std::erase(TheRegistry().runtimes, runtime);
}

void ForEachRuntime(const std::function<void(Runtime&)>& visit) {
  const std::lock_guard lock(TheRegistry().mu);
  for (Runtime* runtime : TheRegistry().runtimes) visit(*runtime);
}

void WithRegistry(const std::function<void(const std::vector<Runtime*>& living)>& use) {
  const std::lock_guard lock(TheRegistry().mu);
  use(TheRegistry().runtimes);
}

}  // namespace csp::internal
