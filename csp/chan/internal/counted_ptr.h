// A counted reference to a channel's state, which counts in `Atomic<std::size_t> references`, from 1
// on.
#ifndef CSP_CHAN_INTERNAL_COUNTED_PTR_H_
#define CSP_CHAN_INTERNAL_COUNTED_PTR_H_

#include <utility>

#include "csp/base/atomic.h"

namespace csp::internal {

template <class C>
class CountedPtr {
 public:
  CountedPtr() = default;
  explicit CountedPtr(C* object) : object_(object) {}  // takes over one reference
  CountedPtr(const CountedPtr& other) : object_(other.object_) {
    if (object_ != nullptr) object_->references.fetch_add(1, std::memory_order_relaxed);
  }
  CountedPtr(CountedPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  CountedPtr& operator=(CountedPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~CountedPtr() {
    // acq_rel: what others did with the object is visible to whoever destroys it.
    if (object_ != nullptr && object_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete object_;
    }
  }

  C* get() const { return object_; }

 private:
  C* object_ = nullptr;
};

}  // namespace csp::internal

#endif  // CSP_CHAN_INTERNAL_COUNTED_PTR_H_
