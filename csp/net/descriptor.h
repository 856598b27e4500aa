// A file descriptor that comes from elsewhere: a pipe, a terminal, an eventfd, a socket of a kind
// that csp/net has no class for.
//
//   auto in = csp::net::Descriptor::Adopt(STDIN_FILENO);
//   if (!in.ok()) …
//   char line[512];
//   absl::StatusOr<std::size_t> count = in->Read(line);      // parks the fiber, not the thread
//
// Regular files and directories are refused: they are never "not ready", their calls block in any
// case. Use csp::Blocking for those.
#ifndef CSP_NET_DESCRIPTOR_H_
#define CSP_NET_DESCRIPTOR_H_

#include "absl/status/statusor.h"
#include "csp/net/byte_stream.h"

namespace csp::net {

class Descriptor final : public ByteStream {
 public:
  Descriptor() = default;

  // Owns `fd` from now on, and makes it non-blocking; if it was not, Release and Close give it the
  // mode back. (The mode belongs to what is open, not to the number: for a terminal or an inherited
  // pipe other processes see it, too.) InvalidArgument for a regular file or a directory, else the
  // system's error; `fd` stays the caller's then.
  static absl::StatusOr<Descriptor> Adopt(int fd);

 private:
  using ByteStream::ByteStream;
};

}  // namespace csp::net

#endif  // CSP_NET_DESCRIPTOR_H_
