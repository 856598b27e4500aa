// What happens to a failure that nobody can observe any more: a detached task that threw, or one
// whose handle was dropped unjoined.
//
//   csp::Run(main, {.on_panic = [](const csp::PanicReport& report) { Log(report.ToString()); }});
#ifndef CSP_TASK_PANIC_HANDLER_H_
#define CSP_TASK_PANIC_HANDLER_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

namespace csp {

struct PanicReport {
  std::uint64_t task = 0;            // its number, as in DumpFibers
  std::string name;                  // empty if it has none
  const void* spawn_site = nullptr;  // where Go was called
  std::exception_ptr error;
  std::string type;  // of the exception, readable
  std::string what;  // its what(), if it is a std::exception

  // One line with all of it; looks up the spawn site's symbol.
  std::string ToString() const;
};

// Called on the fiber or thread that noticed; it may block, and must not throw (what it throws is
// dropped). The default prints the report to the standard error, and the process lives.
using PanicHandler = std::function<void(const PanicReport&)>;

// Replaces the process's handler; an empty one restores the default. Returns the previous one.
PanicHandler SetPanicHandler(PanicHandler handler);

namespace internal {

PanicReport MakePanicReport(std::uint64_t task, const char* name, const void* spawn_site,
                            std::exception_ptr error);

class Runtime;

// Tells the handler of `runtime`, if it has one and lives, or else the process's.
void ReportPanic(Runtime* runtime, std::uint64_t task, const char* name, const void* spawn_site,
                 std::exception_ptr error);

}  // namespace internal
}  // namespace csp

#endif  // CSP_TASK_PANIC_HANDLER_H_
