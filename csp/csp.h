// The one include for users of csp.
#ifndef CSP_CSP_H_
#define CSP_CSP_H_

#include "csp/base/clock.h"              // IWYU pragma: export
#include "csp/base/panic.h"              // IWYU pragma: export
#include "csp/cancel/cancel_callback.h"  // IWYU pragma: export
#include "csp/cancel/cancel_on_stop.h"   // IWYU pragma: export
#include "csp/cancel/cancel_source.h"    // IWYU pragma: export
#include "csp/cancel/cancel_token.h"     // IWYU pragma: export
#include "csp/chan/broadcast.h"          // IWYU pragma: export
#include "csp/chan/chan.h"               // IWYU pragma: export
#include "csp/chan/watch.h"              // IWYU pragma: export
#include "csp/cls/local.h"               // IWYU pragma: export
#include "csp/net/descriptor.h"          // IWYU pragma: export
#include "csp/net/endpoint.h"            // IWYU pragma: export
#include "csp/net/io_status.h"           // IWYU pragma: export
#include "csp/net/resolve.h"             // IWYU pragma: export
#include "csp/net/tcp_listener.h"        // IWYU pragma: export
#include "csp/net/tcp_stream.h"          // IWYU pragma: export
#include "csp/net/udp_socket.h"          // IWYU pragma: export
#include "csp/net/unix_datagram.h"       // IWYU pragma: export
#include "csp/net/unix_listener.h"       // IWYU pragma: export
#include "csp/net/unix_stream.h"         // IWYU pragma: export
#include "csp/os/process.h"              // IWYU pragma: export
#include "csp/os/signals.h"              // IWYU pragma: export
#include "csp/sched/dump.h"              // IWYU pragma: export
#include "csp/select/block.h"            // IWYU pragma: export
#include "csp/select/case.h"             // IWYU pragma: export
#include "csp/select/event.h"            // IWYU pragma: export
#include "csp/select/select.h"           // IWYU pragma: export
#include "csp/select/shield.h"           // IWYU pragma: export
#include "csp/select/wait_list.h"        // IWYU pragma: export
#include "csp/sync/auto_reset_event.h"   // IWYU pragma: export
#include "csp/sync/barrier.h"            // IWYU pragma: export
#include "csp/sync/cond_var.h"           // IWYU pragma: export
#include "csp/sync/latch.h"              // IWYU pragma: export
#include "csp/sync/mutex.h"              // IWYU pragma: export
#include "csp/sync/once.h"               // IWYU pragma: export
#include "csp/sync/rw_mutex.h"           // IWYU pragma: export
#include "csp/sync/semaphore.h"          // IWYU pragma: export
#include "csp/sync/wait_group.h"         // IWYU pragma: export
#include "csp/task/after_done.h"         // IWYU pragma: export
#include "csp/task/after_func.h"         // IWYU pragma: export
#include "csp/task/blocking_call.h"      // IWYU pragma: export
#include "csp/task/go.h"                 // IWYU pragma: export
#include "csp/task/join_all.h"           // IWYU pragma: export
#include "csp/task/panic_handler.h"      // IWYU pragma: export
#include "csp/task/run.h"                // IWYU pragma: export
#include "csp/task/scope.h"              // IWYU pragma: export
#include "csp/task/task.h"               // IWYU pragma: export
#include "csp/time/ticker.h"             // IWYU pragma: export
#include "csp/time/time.h"               // IWYU pragma: export
#include "csp/time/timer.h"              // IWYU pragma: export

#endif  // CSP_CSP_H_
