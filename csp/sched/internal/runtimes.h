// The runtimes that live, for dumps and the deadlock report.
#ifndef CSP_SCHED_INTERNAL_RUNTIMES_H_
#define CSP_SCHED_INTERNAL_RUNTIMES_H_

#include <functional>
#include <vector>

namespace csp::internal {

class Runtime;

void RegisterRuntime(Runtime* runtime);
void UnregisterRuntime(Runtime* runtime);

// Both hold the registry meanwhile: no runtime comes or goes.
void ForEachRuntime(const std::function<void(Runtime&)>& visit);
void WithRegistry(const std::function<void(const std::vector<Runtime*>& living)>& use);

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_RUNTIMES_H_
