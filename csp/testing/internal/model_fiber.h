// The stack of one model thread.
//
// All model threads take turns on one OS thread: whoever explores resumes one,
// which runs until it suspends itself or returns from its entry.
//
// Lifetime: a fiber that has not returned from its entry may be abandoned; its
// frames are never unwound, so whatever they refer to must be kept (a failed
// execution is, see model.cc).
#ifndef CSP_TESTING_INTERNAL_MODEL_FIBER_H_
#define CSP_TESTING_INTERNAL_MODEL_FIBER_H_

#include <cstddef>
#include <memory>

#include "csp/base/thread_context.h"

namespace csp::testing::internal {

class ModelFiber {
 public:
  ModelFiber();
  ModelFiber(const ModelFiber&) = delete;
  ModelFiber& operator=(const ModelFiber&) = delete;

  // The next Resume begins at `entry(argument)`, on the same stack as before.
  void Prepare(void (*entry)(void*), void* argument);

  // From the exploring thread's own stack: runs the fiber until it suspends.
  void Resume();

  // From the fiber: back to whoever resumed it.
  void Suspend();

 private:
  // Everything that the rest of the process keeps per thread and that a model
  // thread must therefore have to itself: csp's thread record (which lock ranks
  // are held, who parks) and the C++ runtime's exceptions in flight.
  struct PerThread {
    csp::internal::ThreadContext context;
    void* caught_exceptions = nullptr;
    unsigned int uncaught_exceptions = 0;
  };
  static void Swap(PerThread& per_thread);

  struct Entry;  // the first frame; knows the switching library
  void Leave(bool for_good);

  std::unique_ptr<char[]> stack_;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* point_ = nullptr;    // where the fiber goes on
  void* resumer_ = nullptr;  // where its resumer goes on
  PerThread per_thread_;

  // For AddressSanitizer, which follows stacks.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* resumer_stack_ = nullptr;
  [[maybe_unused]] std::size_t resumer_stack_size_ = 0;
};

}  // namespace csp::testing::internal

#endif  // CSP_TESTING_INTERNAL_MODEL_FIBER_H_
