#include "examples/md5/flags.h"

#include <charconv>
#include <cstdio>
#include <string_view>

namespace md5 {
namespace {

constexpr int kMax = 1024;

// A number from 1 to kMax.
std::optional<int> ParseCount(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (count < 1 || count > kMax) return std::nullopt;
  return count;
}

std::nullopt_t Complain(const std::string& what) {
  std::fprintf(stderr, "md5_tree: %s\nTry 'md5_tree --help'.\n", what.c_str());
  return std::nullopt;
}

}  // namespace

const char kUsage[] =
    R"(Usage: md5_tree DIR [--jobs=N] [--workers=N]

Prints the MD5 sum of each regular file below DIR, in the format of md5sum and
sorted by name; `md5sum -c` understands it. Symbolic links are not followed.

  --jobs=N     digest N files at a time (1 to 1024; default: two for each worker)
  --workers=N  run fibers on N threads (1 to 1024; default: one for each processor)
  --help       print this

Exit status: 0, 1 if anything could not be read, 2 if the arguments make no sense.
)";

std::optional<Flags> ParseFlags(const std::vector<std::string>& arguments) {
  Flags flags;
  bool has_directory = false;
  bool only_names = false;  // after "--"
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (only_names || argument.empty() || argument[0] != '-') {
      if (has_directory) return Complain("more than one directory: '" + argument + "'");
      flags.directory = argument;
      has_directory = true;
      continue;
    }
    if (argument == "--") {
      only_names = true;
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      flags.help = true;
      return flags;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    int* const target = name == "--jobs"      ? &flags.jobs
                        : name == "--workers" ? &flags.workers
                                              : nullptr;
    if (target == nullptr) return Complain("unknown flag '" + argument + "'");
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    }
    const std::optional<int> count = ParseCount(value);
    if (!count) return Complain(name + " takes a number from 1 to 1024, not '" + value + "'");
    *target = *count;
  }
  if (!has_directory) return Complain("which directory?");
  return flags;
}

}  // namespace md5
