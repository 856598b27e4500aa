// Starting a program, by posix_spawn.
#ifndef CSP_OS_INTERNAL_SPAWN_H_
#define CSP_OS_INTERNAL_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace csp::internal {

// What a child's standard stream is.
inline constexpr int kInheritStream = -1;
inline constexpr int kNullStream = -2;

struct SpawnRequest {
  const std::vector<std::string>* command;
  const std::vector<std::string>* environment;  // null: the caller's
  const std::string* directory;                 // empty: the caller's
  int streams[3];                               // the above, or a descriptor, at least 3
};

// 0, or an error's number. Blocks the thread until the program has been loaded, so that its errors
// are known.
int SpawnChild(const SpawnRequest& request, pid_t& pid);

}  // namespace csp::internal

#endif  // CSP_OS_INTERNAL_SPAWN_H_
