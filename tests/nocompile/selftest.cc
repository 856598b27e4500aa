// The test of nocompile_test itself, and a pattern to copy.

#include <type_traits>

#include "csp/csp.h"

template <typename T>
void NeedsClass() {
  static_assert(std::is_class_v<T>, "csp: T must be a class");
}

void Valid() {
  struct S {};
  NeedsClass<S>();
}

#ifdef NOT_A_CLASS  // expect: csp: T must be a class
void Case() { NeedsClass<int>(); }
#endif

#ifdef NO_SUCH_NAME  // expect: 'Nothing' is not a member of 'csp' | no member named 'Nothing'
auto* f = &csp::Nothing;
#endif
