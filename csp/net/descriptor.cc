#include "csp/net/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "csp/net/internal/io_error.h"
#include "csp/net/internal/open_file.h"
#include "csp/net/internal/system.h"

namespace csp::net {
namespace {

using internal::IoError;
using internal::OpenFile;
using internal::TheSystem;

constexpr char kType[] = "Descriptor";

}  // namespace

absl::StatusOr<Descriptor> Descriptor::Adopt(int fd) {
  const int flags = TheSystem().Flags(fd);
  if (flags < 0) return IoError(kType, "Adopt", flags);
  struct stat info {};
  if (fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) {
    return absl::InvalidArgumentError(
        "Descriptor::Adopt: a regular file or a directory is never waited for; read and write it "
        "in csp::Blocking");
  }
  const bool was_blocking = (flags & O_NONBLOCK) == 0;
  if (was_blocking) {
    const int result = TheSystem().SetFlags(fd, flags | O_NONBLOCK);
    if (result < 0) return IoError(kType, "Adopt", result);
  }
  auto* file = new OpenFile(
      fd, S_ISSOCK(info.st_mode) ? OpenFile::Kind::kSocket : OpenFile::Kind::kFile, kType);
  if (was_blocking) file->RestoreBlocking();
  return Descriptor(internal::Ref<OpenFile>(file));
}

}  // namespace csp::net
