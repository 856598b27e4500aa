#include "csp/sched/internal/code_site.h"

#include <errno.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "absl/debugging/symbolize.h"
#include "absl/strings/str_format.h"

namespace csp::internal {
namespace {

// One segment of code.
struct Module {
  std::uintptr_t base = 0;  // of the file
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  char name[64] = {};
};

constexpr int kMaxModules = 128;
constinit Module noted[kMaxModules];
constinit std::atomic<int> noted_count{0};

// Calls `visit(const Module&)` for each segment of code that is loaded, until it returns true.
template <class F>
void ForEachModule(F visit) {
  const auto callback = [](dl_phdr_info* info, std::size_t, void* data) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      Module module;
      module.base = info->dlpi_addr;
      module.low = info->dlpi_addr + segment.p_vaddr;
      module.high = module.low + segment.p_memsz;
      const char* path = info->dlpi_name;  // the program's is empty
      if (path == nullptr || *path == '\0') path = program_invocation_short_name;
      const char* slash = std::strrchr(path, '/');
      std::strncpy(module.name, slash != nullptr ? slash + 1 : path, sizeof module.name - 1);
      if ((*static_cast<F*>(data))(module)) return 1;
    }
    return 0;
  };
  dl_iterate_phdr(callback, &visit);
}

// The address is that of the instruction behind the call.
std::uintptr_t CallBefore(const void* return_address) {
  return reinterpret_cast<std::uintptr_t>(return_address) - 1;
}

bool Contains(const Module& module, std::uintptr_t address) {
  return module.low <= address && address < module.high;
}

// snprintf is not on the list of async-signal-safe functions, but with these conversions glibc's
// neither allocates nor locks.
void Write(const Module* module, const void* return_address, char* out, std::size_t size) {
  if (module != nullptr) {
    std::snprintf(out, size, "%s+0x%jx", module->name,
                  std::uintmax_t{CallBefore(return_address) - module->base});
  } else {
    std::snprintf(out, size, "%p", return_address);
  }
}

}  // namespace

std::string CallSite(const void* return_address) {
  if (return_address == nullptr) return "an unknown place";
  const std::uintptr_t call = CallBefore(return_address);
  char place[100];
  Write(nullptr, return_address, place, sizeof place);
  ForEachModule([&](const Module& module) {
    if (!Contains(module, call)) return false;
    Write(&module, return_address, place, sizeof place);
    return true;
  });
  char name[256];
  if (!absl::Symbolize(reinterpret_cast<const void*>(call), name, sizeof name)) return place;
  return absl::StrFormat("%s (%s)", name, place);
}

void NoteModules() {
  int count = 0;
  ForEachModule([&](const Module& module) {
    noted[count++] = module;
    return count == kMaxModules;
  });
  noted_count.store(count, std::memory_order_release);
}

void WriteCallPlace(const void* return_address, char* out, std::size_t size) {
  const Module* const end = noted + noted_count.load(std::memory_order_acquire);
  const Module* const found =
      std::find_if(static_cast<const Module*>(noted), end,
                   [&](auto& module) { return Contains(module, CallBefore(return_address)); });
  Write(found != end ? found : nullptr, return_address, out, size);
}

}  // namespace csp::internal
