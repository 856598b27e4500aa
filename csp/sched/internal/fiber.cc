#include "csp/sched/internal/fiber.h"

#include <algorithm>
#include <cstring>

#include "csp/base/asymmetric.h"
#include "csp/sched/internal/worker.h"
#include "csp/sched/runtime.h"

namespace csp::internal {

Fiber::Fiber(char* stack_low, std::uint8_t stack_class)
    : Parker(Kind::kFiber), stack_class_(stack_class) {
  context.stack_bottom = stack_low;
  context.stack_size = static_cast<std::size_t>(reinterpret_cast<char*>(this) - stack_low);
#ifdef CSP_TSAN
  context.tsan_fiber = __tsan_create_fiber(0);
#endif
}

#ifdef CSP_TSAN
Fiber::~Fiber() { __tsan_destroy_fiber(context.tsan_fiber); }
#else
Fiber::~Fiber() = default;
#endif

void Fiber::Bind(TaskRecord* new_task, Worker& worker) {
  task = new_task;
  home = new_task->pinned ? &worker : nullptr;
  locals = new_task->inherited_locals;
  spawn_site.store(new_task->spawn_site, std::memory_order_relaxed);
  if (new_task->name != nullptr || name_[0].load(std::memory_order_relaxed) != 0) {
    char text[kNameSize] = {};
    if (new_task->name != nullptr) std::strncpy(text, new_task->name, kNameSize - 1);
    for (std::size_t i = 0; i < name_.size(); ++i) {
      std::uint64_t word;
      std::memcpy(&word, text + i * sizeof word, sizeof word);
      name_[i].store(word, std::memory_order_relaxed);
    }
  }
  runtime.store(&worker.runtime(), std::memory_order_relaxed);
  words.cancel.store(CancelWordOf(new_task->number), std::memory_order_release);
  new_task->fiber.store(this, std::memory_order_release);
  LightBarrier();  // pairs with RequestCancel's heavy one
  if (worker.runtime().stopping()) {
    new_task->cancel_requested.store(true, std::memory_order_relaxed);
  }
  if (new_task->cancel_requested.load(std::memory_order_relaxed)) {
    words.cancel.store(CancelWordOf(new_task->number) | kTaskCancelled, std::memory_order_release);
  }
}

void Fiber::Unbind() {
  // From here on a canceller's swap fails, which names the number.
  words.cancel.store(0, std::memory_order_release);
  words.shield_depth = 0;
  words.cancelled_throws = 0;
  runtime.store(nullptr, std::memory_order_relaxed);
  task = nullptr;
}

std::size_t Fiber::CopyName(char (&out)[kNameSize]) const {
  for (std::size_t i = 0; i < name_.size(); ++i) {
    const std::uint64_t word = name_[i].load(std::memory_order_relaxed);
    std::memcpy(out + i * sizeof word, &word, sizeof word);
  }
  out[kNameSize - 1] = '\0';
  return std::strlen(out);
}

}  // namespace csp::internal
