// One file of md5_tree: from its name to a line of output.
#ifndef EXAMPLES_MD5_DIGEST_H_
#define EXAMPLES_MD5_DIGEST_H_

#include <cstdint>
#include <string>
#include <vector>

namespace md5 {

// What became of one path.
struct Outcome {
  std::string path = {};
  std::string digest = {};  // in hexadecimal; empty if something went wrong
  std::uint64_t bytes = 0;  // that were read
  std::string error = {};   // what went wrong
};

// Reads the file `outcome.path`, `buffer.size()` bytes at a time, and fills in the rest. Blocks its
// thread.
void DigestFile(Outcome& outcome, std::vector<unsigned char>& buffer);

// "digest  path" as GNU md5sum writes it: a name with a backslash or a line break in it is escaped,
// and the line begins with a backslash.
std::string FormatLine(const Outcome& outcome);

}  // namespace md5

#endif  // EXAMPLES_MD5_DIGEST_H_
