#include "csp/os/internal/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace csp::internal {
namespace {

class FileActions {
 public:
  FileActions() { Note(posix_spawn_file_actions_init(&actions_)); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void Set(int stream, int what) {
    if (what == kInheritStream) return;
    Note(what == kNullStream
             ? posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null",
                                                stream == 0 ? O_RDONLY : O_WRONLY, 0)
             : posix_spawn_file_actions_adddup2(&actions_, what, stream));
  }
  void ChangeDirectory(const std::string& directory) {
    if (!directory.empty()) {
      Note(posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str()));
    }
  }

  int error() const { return error_; }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void Note(int error) { error_ = error_ != 0 ? error_ : error; }

  posix_spawn_file_actions_t actions_;
  int error_ = 0;
};

// No signal is held back in the child, whatever the calling thread does, and SIGPIPE has its usual
// effect.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes_, &set);
    sigaddset(&set, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &set);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// As exec takes them, with a null at the end.
std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

int SpawnChild(const SpawnRequest& request, pid_t& pid) {
  FileActions actions;
  for (int stream = 0; stream < 3; ++stream) actions.Set(stream, request.streams[stream]);
  actions.ChangeDirectory(*request.directory);
  if (actions.error() != 0) return actions.error();
  const Attributes attributes;
  const std::vector<char*> command = Pointers(*request.command);
  std::vector<char*> environment;
  if (request.environment != nullptr) environment = Pointers(*request.environment);
  return posix_spawnp(&pid, command[0], actions.get(), attributes.get(), command.data(),
                      request.environment != nullptr ? environment.data() : environ);
}

}  // namespace csp::internal
