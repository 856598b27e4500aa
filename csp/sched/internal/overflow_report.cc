#include "csp/sched/internal/overflow_report.h"

#include <signal.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <mutex>

#include "csp/sched/internal/code_site.h"
#include "csp/sched/internal/fiber_pool.h"

namespace csp::internal {
namespace {

struct sigaction previous;

// snprintf is not on the list of async-signal-safe functions, but with these conversions glibc's
// neither allocates nor locks; and the process is dying.
void Report(const Fiber& fiber) {
  char name[Fiber::kNameSize];
  fiber.CopyName(name);
  const void* const site = fiber.spawn_site.load(std::memory_order_relaxed);
  char spawn_site[100] = "";
  if (site != nullptr) WriteCallPlace(site, spawn_site, sizeof spawn_site);
  const char* const quote = name[0] != '\0' ? "\"" : "";
  char text[400];
  const int length = std::snprintf(
      text, sizeof text,
      "csp: stack overflow in fiber %" PRIu64
      "%s%s%s%s, stack of %zu KiB%s%s; give it more by GoOptions::stack_size or "
      "RunOptions::stack_size\n",
      fiber.number(), name[0] != '\0' ? " " : "", quote, name, quote,
      StackSizeOf(fiber.stack_class()) >> 10, site != nullptr ? ", spawned at " : "", spawn_site);
  if (length > 0) {
    [[maybe_unused]] const auto written =
        write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  }
}

void OnSegv(int signal, siginfo_t* info, void* context) {
  const bool sent = info->si_code <= 0;  // by kill or raise: no instruction has faulted
  if (!sent) {
    if (const Fiber* fiber = FiberPool::Get().FindByGuard(info->si_addr)) Report(*fiber);
  }
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else if (!sent || previous.sa_handler != SIG_IGN) {
    // The faulting instruction runs again and meets the default action; a signal that was sent must
    // be sent again, and is delivered when this handler returns.
    ::signal(SIGSEGV, SIG_DFL);
    if (sent) raise(SIGSEGV);
  }
}

}  // namespace

void InstallOverflowReport() {
  static std::once_flag once;
  std::call_once(once, [] {
    FiberPool::Get();  // made before a handler could need it
    NoteModules();
    struct sigaction action {};
    action.sa_sigaction = &OnSegv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous);
  });
}

}  // namespace csp::internal
