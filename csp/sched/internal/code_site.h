// Where in the program's files an address of code lies: "program+0x20e9", which addr2line takes,
// wherever the system has loaded the file.
#ifndef CSP_SCHED_INTERNAL_CODE_SITE_H_
#define CSP_SCHED_INTERNAL_CODE_SITE_H_

#include <cstddef>
#include <string>

namespace csp::internal {

// The call that returns to `return_address`: the function, if its name is known, and the place, as
// "Serve() (program+0x20e9)" or "program+0x20e9".
std::string CallSite(const void* return_address);

// Notes which files are loaded now, for WriteCallPlace. One thread at a time.
void NoteModules();

// The place alone, into `out`, which ends with a NUL; "0x…" if the file is not among those noted. May
// be called in a signal handler.
void WriteCallPlace(const void* return_address, char* out, std::size_t size);

}  // namespace csp::internal

#endif  // CSP_SCHED_INTERNAL_CODE_SITE_H_
