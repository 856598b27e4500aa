// The command line of md5_tree.
#ifndef EXAMPLES_MD5_FLAGS_H_
#define EXAMPLES_MD5_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

namespace md5 {

struct Flags {
  std::string directory;
  int jobs = 0;     // 0: two for each worker
  int workers = 0;  // 0: one for each processor
  bool help = false;
};

extern const char kUsage[];

// Empty, after a message to the standard error, if the arguments make no sense.
std::optional<Flags> ParseFlags(const std::vector<std::string>& arguments);

}  // namespace md5

#endif  // EXAMPLES_MD5_FLAGS_H_
