#include "examples/md5/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace md5 {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

struct Listing {
  std::vector<std::string> files;
  std::vector<std::string> directories;
  std::string error;
};

// DT_REG, DT_DIR or something else. Some file systems leave the type to a second call.
unsigned char TypeOf(DIR* directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type;
  struct stat status;
  if (fstatat(dirfd(directory), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
  return S_ISREG(status.st_mode) ? DT_REG : S_ISDIR(status.st_mode) ? DT_DIR : DT_UNKNOWN;
}

// What is in one directory. Blocks its thread.
Listing List(const std::string& path) {
  Listing listing;
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
  if (directory == nullptr) {
    listing.error = std::strerror(errno);
    return listing;
  }
  const std::string prefix = path.ends_with('/') ? path : path + "/";
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory.get());
    if (entry == nullptr) {
      if (errno != 0) listing.error = std::strerror(errno);
      return listing;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const unsigned char type = TypeOf(directory.get(), *entry);
    if (type == DT_REG) listing.files.push_back(prefix + entry->d_name);
    if (type == DT_DIR) listing.directories.push_back(prefix + entry->d_name);
  }
}

}  // namespace

void Walk(const std::string& root, const csp::SendChan<std::string>& paths,
          const csp::SendChan<Outcome>& failures) {
  std::vector<std::string> pending = {root};
  while (!pending.empty()) {
    const std::string directory = std::move(pending.back());
    pending.pop_back();
    Listing listing = csp::Blocking([&] { return List(directory); });
    for (std::string& file : listing.files) paths.Send(std::move(file));
    for (std::string& below : listing.directories) pending.push_back(std::move(below));
    if (!listing.error.empty()) failures.Send({.path = directory, .error = listing.error});
  }
}

}  // namespace md5
