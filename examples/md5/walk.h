// The walker of md5_tree: all regular files below a directory.
#ifndef EXAMPLES_MD5_WALK_H_
#define EXAMPLES_MD5_WALK_H_

#include <string>

#include "csp/csp.h"
#include "examples/md5/digest.h"

namespace md5 {

// Sends the path of each regular file below `root`, as `find root -type f` prints it, in no
// particular order; and an outcome for each directory that cannot be read. Follows no symbolic
// link, except if `root` itself is one.
void Walk(const std::string& root, const csp::SendChan<std::string>& paths,
          const csp::SendChan<Outcome>& failures);

}  // namespace md5

#endif  // EXAMPLES_MD5_WALK_H_
