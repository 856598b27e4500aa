// What csp knows about the calling thread, behind the library's only thread_local.
//
// Compilers keep the address of a thread_local in a register across a fiber switch, after which
// the fiber may run on another thread. So the variable is reachable by one out-of-line function,
// which the optimiser cannot look into, and what it returns must never be kept across anything
// that may suspend: ask again.
#ifndef CSP_BASE_THREAD_CONTEXT_H_
#define CSP_BASE_THREAD_CONTEXT_H_

namespace csp::internal {

struct LeanRecord;
class Parker;
class RecordCache;
class Runtime;
class Worker;

struct ThreadContext {
  Parker* parker = nullptr;    // the running fiber; on a plain thread its record, once it has one
  Worker* worker = nullptr;    // null on a plain thread
  Runtime* runtime = nullptr;  // of a pool's thread: whose fibers it works for
  LeanRecord* lean = nullptr;  // of a worker's thread (leaning_lock.h)
  int budget = 0;              // operations left before a blocking call that is ready yields
  unsigned held_ranks = 0;     // debug builds: lock ranks held, a bit each
  RecordCache* records = nullptr;  // of a worker's thread (csp/sched/record_pool.h)
  void* locals = nullptr;          // csp/cls: those of the thread itself; a fiber has its own
  void** lent = nullptr;           // ... and of the fiber whose Blocking call the thread runs
};

// The calling thread's context; never null. Not to be kept across a suspension.
ThreadContext* CurrentThread();

}  // namespace csp::internal

#endif  // CSP_BASE_THREAD_CONTEXT_H_
