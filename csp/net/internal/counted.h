// What is owned by whoever refers to it: handles in the program, and waits in the reactor.
#ifndef CSP_NET_INTERNAL_COUNTED_H_
#define CSP_NET_INTERNAL_COUNTED_H_

#include <cstdint>
#include <utility>

#include "csp/base/atomic.h"

namespace csp::internal {

// Base of a counted object; begins with one reference, its maker's.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void AddRef() { refs_.fetch_add(1, std::memory_order_relaxed); }
  // Acquire and release: who destroys it sees what everybody has done to it.
  void DropRef() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~Counted() = default;

 private:
  Atomic<std::uint32_t> refs_{1};
};

// A reference, or none. Moving it counts nothing.
template <class T>
class Ref {
 public:
  Ref() = default;
  // Takes over a reference that has been counted.
  explicit Ref(T* object) : object_(object) {}
  static Ref To(T& object) {
    object.AddRef();
    return Ref(&object);
  }

  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) object_->AddRef();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->DropRef();
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace csp::internal

#endif  // CSP_NET_INTERNAL_COUNTED_H_
