// The part of Local<T> that does not depend on T.
#ifndef CSP_CLS_INTERNAL_LOCAL_BASE_H_
#define CSP_CLS_INTERNAL_LOCAL_BASE_H_

#include <cstdint>

#include "csp/base/atomic.h"
#include "csp/cls/internal/local_box.h"
#include "csp/cls/internal/slot_table.h"

namespace csp::internal {

// Constant-initialised and trivially destructible, so that a global Local works in every static
// constructor and destructor. The number is drawn at the first access and never given out again: a
// fiber may have a value longer than its Local lives.
class LocalBase {
 public:
  LocalBase(const LocalBase&) = delete;
  LocalBase& operator=(const LocalBase&) = delete;

 protected:
  // `make(…, from)` makes the first value.
  constexpr LocalBase(const LocalType& type, MakeLocal make, const void* from)
      : type_(&type), make_(make), from_(from) {}

  void* GetValue() const {
    void* value = FindLocal(id_.load(std::memory_order_relaxed));
    return value != nullptr ? value : MakeValue();
  }
  // Null if there is none.
  const void* PeekValue() const { return PeekLocal(id_.load(std::memory_order_relaxed)); }
  // A value that may be assigned to; null if a new one is to be stored instead.
  void* FindAssignable() const;
  void StoreValue(MakeLocal make, const void* from) const;

  // Puts a value over what is there, and takes it away again.
  class BindBase {
   public:
    BindBase(const BindBase&) = delete;
    BindBase& operator=(const BindBase&) = delete;

   protected:
    BindBase(const LocalBase& local, MakeLocal make, const void* from);
    ~BindBase();

   private:
    void*& root_;
    const std::uint32_t id_;
    HeldLocal below_;
  };

 private:
  void* MakeValue() const;
  // Draws it if need be.
  std::uint32_t Number() const;

  mutable Atomic<std::uint32_t> id_{0};
  const LocalType* type_;
  MakeLocal make_;
  const void* from_;
};

// Keeps an initialiser that has state for the rest of the process's life.
struct KeptInitialiser {
  KeptInitialiser* next = nullptr;
};
void KeepInitialiser(KeptInitialiser* initialiser);

[[noreturn]] void ThrowNoInitialValue();

}  // namespace csp::internal

#endif  // CSP_CLS_INTERNAL_LOCAL_BASE_H_
