// What went wrong in a call of csp/net, beside the absl::Status that says so.
//
//   absl::StatusOr<csp::net::TcpStream> conn = listener.Accept();
//   if (csp::net::ErrnoOf(conn.status()) == EMFILE) …
//
// Codes of statuses: that of the system's error (absl::ErrnoToStatusCode); DeadlineExceeded if a
// deadline has passed; FailedPrecondition if the object was closed, before or during the call; for
// OutOfRange see ReadFull.
#ifndef CSP_NET_IO_STATUS_H_
#define CSP_NET_IO_STATUS_H_

#include "absl/status/status.h"

namespace csp::net {

// The system's error number; 0 if there is none: the status is OK, or no system call said so.
int ErrnoOf(const absl::Status& status);

// True if the call ended because its object was closed by this program.
bool IsClosed(const absl::Status& status);

}  // namespace csp::net

#endif  // CSP_NET_IO_STATUS_H_
