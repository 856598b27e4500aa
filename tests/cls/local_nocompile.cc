// What a Local refuses.
#include <memory>
#include <string>

#include "csp/cls/local.h"

void Valid() {
  static csp::Local<std::string> local{csp::kInherit};
  const csp::Local<std::string>::Bind bind(local, "x");
  local = *local + "y";
}

#ifdef INHERIT_MOVE_ONLY  // expect: no matching | constraints not satisfied
csp::Local<std::unique_ptr<int>> local{csp::kInherit};
#endif

#ifdef INITIALISER_OF_ANOTHER_TYPE  // expect: no matching
csp::Local<std::string> local{[] { return nullptr == nullptr; }};
#endif

#ifdef INITIALISER_THAT_CHANGES  // expect: no matching
csp::Local<int> local{[n = 0]() mutable { return ++n; }};
#endif

#ifdef ARRAY  // expect: T must be a plain object type
csp::Local<int[3]> local;
#endif

#ifdef COPY  // expect: deleted
csp::Local<int> local;
csp::Local<int> copy = local;
#endif

#ifdef THROWING_DESTRUCTOR  // expect: destroying T must not throw
struct Throws {
  ~Throws() noexcept(false);
};
csp::Local<Throws> local;
#endif
