#include "csp/task/panic_handler.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <typeinfo>
#include <utility>

#include "absl/strings/str_format.h"
#include "csp/sched/internal/code_site.h"
#include "csp/sched/internal/runtimes.h"
#include "csp/sched/runtime.h"

namespace csp {
namespace {

struct Handler {
  std::mutex mu;
  PanicHandler handler;
};

Handler& TheHandler() {
  static Handler* handler = new Handler;
  return *handler;
}

std::string TypeName(const std::type_info& type) {
  int status = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string result = status == 0 ? name : type.name();
  std::free(name);
  return result;
}

void Describe(PanicReport& report) {
  try {
    std::rethrow_exception(report.error);
  } catch (const std::exception& e) {
    report.type = TypeName(typeid(e));
    report.what = e.what();
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    report.type = type != nullptr ? TypeName(*type) : "unknown";
  }
}

}  // namespace

std::string PanicReport::ToString() const {
  std::string text = absl::StrFormat("csp: task %d%s failed with %s", task,
                                     name.empty() ? "" : absl::StrFormat(" \"%s\"", name), type);
  if (!what.empty()) absl::StrAppendFormat(&text, ": %s", what);
  absl::StrAppendFormat(&text, "; spawned at %s", internal::CallSite(spawn_site));
  return text;
}

PanicHandler SetPanicHandler(PanicHandler handler) {
  const std::lock_guard lock(TheHandler().mu);
  return std::exchange(TheHandler().handler, std::move(handler));
}

namespace internal {

PanicReport MakePanicReport(std::uint64_t task, const char* name, const void* spawn_site,
                            std::exception_ptr error) {
  PanicReport report{task, name != nullptr ? name : "", spawn_site, std::move(error), "", ""};
  Describe(report);
  return report;
}

void ReportPanic(Runtime* runtime, std::uint64_t task, const char* name, const void* spawn_site,
                 std::exception_ptr error) {
  try {
    decltype(RuntimeConfig::on_panic) on_panic;
    ForEachRuntime([&](Runtime& living) {
      if (&living == runtime) on_panic = living.config().on_panic;
    });
    if (on_panic) {
      on_panic(task, name, spawn_site, std::move(error));
      return;
    }
    PanicHandler handler;
    {
      const std::lock_guard lock(TheHandler().mu);
      handler = TheHandler().handler;
    }
    const PanicReport report = MakePanicReport(task, name, spawn_site, std::move(error));
    if (handler) {
      handler(report);
    } else {
      std::fprintf(stderr, "%s\n", report.ToString().c_str());
    }
  } catch (...) {  // a handler that fails has nobody to tell
  }
}

}  // namespace internal
}  // namespace csp
