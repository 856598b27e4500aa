#include "csp/testing/internal/model_fiber.h"

#include <cxxabi.h>

#include <boost/context/detail/fcontext.hpp>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define CSP_MODEL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CSP_MODEL_ASAN 1
#endif
#endif

#ifdef CSP_MODEL_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace csp::testing::internal {
namespace {

namespace context = boost::context::detail;

// Room for GoogleTest's messages and for a sanitizer's fat frames; only pages
// that are touched take memory.
constexpr std::size_t kStackSize = std::size_t{256} * 1024;

// The Itanium C++ ABI's per-thread record (__cxa_eh_globals).
struct ExceptionGlobals {
  void* caught;
  unsigned int uncaught;
};

}  // namespace

struct ModelFiber::Entry {
  static void Run(context::transfer_t from) {
    auto* self = static_cast<ModelFiber*>(from.data);
    self->resumer_ = from.fctx;
#ifdef CSP_MODEL_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &self->resumer_stack_, &self->resumer_stack_size_);
#endif
    self->entry_(self->argument_);
    self->Leave(true);
  }
};

ModelFiber::ModelFiber() : stack_(new char[kStackSize]) {}

void ModelFiber::Prepare(void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  per_thread_ = {};
#ifdef CSP_MODEL_ASAN
  // The last run's first frames were never left.
  __asan_unpoison_memory_region(stack_.get(), kStackSize);
#endif
  point_ = context::make_fcontext(stack_.get() + kStackSize, kStackSize, &Entry::Run);
}

void ModelFiber::Resume() {
  Swap(per_thread_);
#ifdef CSP_MODEL_ASAN
  void* own_fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&own_fake_stack, stack_.get(), kStackSize);
#endif
  point_ = context::jump_fcontext(point_, this).fctx;
#ifdef CSP_MODEL_ASAN
  __sanitizer_finish_switch_fiber(own_fake_stack, nullptr, nullptr);
#endif
  Swap(per_thread_);
}

void ModelFiber::Suspend() { Leave(false); }

void ModelFiber::Leave([[maybe_unused]] bool for_good) {
#ifdef CSP_MODEL_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_, resumer_stack_,
                                 resumer_stack_size_);
#endif
  resumer_ = context::jump_fcontext(resumer_, nullptr).fctx;
#ifdef CSP_MODEL_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &resumer_stack_, &resumer_stack_size_);
#endif
}

void ModelFiber::Swap(PerThread& per_thread) {
  std::swap(*csp::internal::CurrentThread(), per_thread.context);
  auto* globals = reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
  std::swap(globals->caught, per_thread.caught_exceptions);
  std::swap(globals->uncaught, per_thread.uncaught_exceptions);
}

}  // namespace csp::testing::internal
