#include "csp/sched/cancel_report.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>

#include "absl/strings/str_format.h"
#include "csp/base/panic.h"
#include "csp/base/thread_context.h"
#include "csp/sched/internal/code_site.h"
#include "csp/sched/internal/fiber.h"

namespace csp::internal {
namespace {

constinit std::terminate_handler previous = nullptr;

std::string Describe(const Parker& parker) {
  if (parker.kind() != Parker::Kind::kFiber) return "a thread";
  const auto& fiber = static_cast<const Fiber&>(parker);
  char name[Fiber::kNameSize];
  const bool named = fiber.CopyName(name) != 0;
  return absl::StrFormat("fiber %d%s, spawned at %s,", fiber.number(),
                         named ? absl::StrFormat(" \"%s\"", name) : "",
                         CallSite(fiber.spawn_site.load(std::memory_order_relaxed)));
}

// On the stack of whoever called std::terminate.
[[noreturn]] void OnTerminate() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  const Parker* parker = CurrentThread()->parker;
  if (type != nullptr && *type == typeid(Cancelled) && parker != nullptr) {
    std::fprintf(stderr,
                 "csp: %s is cancelled, and csp::Cancelled, thrown by a blocking call in %s, has "
                 "met a function that is noexcept, as destructors are; put a csp::Shield around "
                 "what blocks there, or let the exception pass\n",
                 Describe(*parker).c_str(), CallSite(parker->words.cancelled_call).c_str());
  }
  if (previous != nullptr) previous();
  std::abort();
}

}  // namespace

void WarnOfSwallowing(const Parker& parker, std::uint32_t times) {
  std::fprintf(stderr,
               "csp: %s has been told %d times that it is cancelled and goes on; let "
               "csp::Cancelled pass\n",
               Describe(parker).c_str(), static_cast<int>(times));
}

void NoteCancelledCall(Parker& parker, const void* call) {
  static const bool installed = [] {
    previous = std::set_terminate(&OnTerminate);
    return true;
  }();
  (void)installed;
  parker.words.cancelled_call = call;
}

}  // namespace csp::internal
