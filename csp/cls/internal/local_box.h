// One value of a Local, with the count of those who share it.
//
// Invariants
//  1. A box with one reference may be changed by the holder of that reference; a box with more is
//     immutable.
//  2. A box names all that is needed to destroy its value: the Local itself may be gone by then.
//
// Thread rules: the count from anywhere; the value under invariant 1.
#ifndef CSP_CLS_INTERNAL_LOCAL_BOX_H_
#define CSP_CLS_INTERNAL_LOCAL_BOX_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "csp/base/atomic.h"

namespace csp::internal {

// Constructs a value at `where`; `from` is the maker's own affair.
using MakeLocal = void (*)(void* where, const void* from);

// What the untemplated half of csp/cls knows about T.
struct LocalType {
  std::size_t size;
  std::size_t alignment;
  void (*destroy)(void* value);
  MakeLocal copy;                              // null: values are not inherited
  bool (*same)(const void* a, const void* b);  // null: nobody can tell, without the user's code
};

class LocalBox {
 public:
  // With one reference. Throws std::bad_alloc and what `make` throws.
  static LocalBox* Make(const LocalType& type, MakeLocal make, const void* from);

  void* value() { return reinterpret_cast<char*>(this) + ValueOffset(*type_); }
  const void* value() const { return const_cast<LocalBox*>(this)->value(); }
  const LocalType& type() const { return *type_; }

  LocalBox* Share() {
    // relaxed: whoever shares has a reference already.
    references_.fetch_add(1, std::memory_order_relaxed);
    return this;
  }
  // The caller, who has a reference, has the only one. acquire: pairs with the release in Drop, so
  // that what others have read is read before the caller writes.
  bool unique() const { return references_.load(std::memory_order_acquire) == 1; }
  // Gives a reference up; the last one destroys the value.
  void Drop() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    type_->destroy(value());
    Free();
  }
  // Gives the memory back; the value has been destroyed.
  void Free();

 private:
  explicit LocalBox(const LocalType& type) : type_(&type) {}

  static std::size_t ValueOffset(const LocalType& type) {
    return (sizeof(LocalBox) + type.alignment - 1) & ~(type.alignment - 1);
  }

  Atomic<std::uint32_t> references_{1};
  const LocalType* const type_;
};

// Types whose values are known to be the same by library means alone. Not whatever has an ==: that
// is the user's code, and may mean "equivalent". And not what has padding, whose bytes mean
// nothing.
template <class T>
struct ExactlyComparable : std::bool_constant<std::has_unique_object_representations_v<T> ||
                                              std::is_floating_point_v<T>> {
  static bool Same(const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }
};
template <class C, class A>
struct ExactlyComparable<std::basic_string<C, std::char_traits<C>, A>> : std::true_type {
  using String = std::basic_string<C, std::char_traits<C>, A>;
  static bool Same(const String& a, const String& b) { return a == b; }
};

template <class T, bool kInherited>
constexpr LocalType MakeLocalType() {
  LocalType type = {sizeof(T), alignof(T), [](void* value) { static_cast<T*>(value)->~T(); },
                    nullptr, nullptr};
  if constexpr (kInherited) {
    type.copy = [](void* where, const void* from) {
      ::new (where) T(*static_cast<const T*>(from));
    };
    if constexpr (ExactlyComparable<T>::value) {
      type.same = [](const void* a, const void* b) {
        return ExactlyComparable<T>::Same(*static_cast<const T*>(a), *static_cast<const T*>(b));
      };
    }
  }
  return type;
}

template <class T, bool kInherited>
inline constexpr LocalType kLocalType = MakeLocalType<T, kInherited>();

}  // namespace csp::internal

#endif  // CSP_CLS_INTERNAL_LOCAL_BOX_H_
