// Fiber-local values: what thread_local is for threads.
//
//   inline csp::Local<Stats> stats;                          // each fiber has its own
//   inline csp::Local<RequestId> request_id{csp::kInherit};  // tasks get a copy of their parent's
//
//   void Serve(Request request) {
//     request_id = request.id;
//     csp::Go([] { Log(*request_id); });                     // the same id
//     ++stats->served;
//     csp::Local<RequestId>::Bind bind(request_id, RequestId());  // until the end of the scope
//   }
//
// Life of a value
//   made        at the first access, by the initialiser that the Local was given, else by T's
//               default constructor; or by Set or Bind
//   destroyed   at the end of the fiber, after its function and closure, in the reverse order of
//               creation. Destructors may block, and may use locals: what they make is destroyed as
//               well. A destructor may access the value that it destroys, but not Set or Bind it.
//               A task that a destructor starts inherits no copy of a value that may have been
//               changed through a reference, but what the fiber itself has inherited.
//
// Outside fibers each thread has a value of its own, which is destroyed when the thread exits. But
// within Blocking a value is that of the fiber that called it, and a function under BlockingDetached
// has values of its own, and inherits, as a task does. A Local works before main, after it, and in
// callbacks.
//
// Inheritance: a task sees the values of a kInherit Local as they were at its Go, made by whoever
// called Go or inherited by them. From then on neither sees what the other changes. To this end a
// task gets a copy when it first asks for a reference (Get, *, ->), while Peek looks at the shared
// value. Copies are made by T's copy constructor, also in Go itself, for a value that the caller
// has asked a reference to since it was Set, unless it is known not to have changed. That can be
// told if T is a number, a std::string, or a trivially copyable type without padding and without
// floating-point members (a struct with those is copied). The copy constructor may run in several
// threads at once, should not block, and may not use the same Local or call Go. A shared value is
// destroyed by the task that lets go of it last.
//
// Thread rules: a Local from any fiber or thread; a value is its fiber's own. References are good
// until the fiber ends; with a T that is not assignable, until Set.
// Cost: an access a few nanoseconds; a value one allocation; a fiber with values a table of 24
// bytes times the highest number of a Local that it uses. A Go with any number of inherited values
// costs one reference count more than one without. Numbers are never reused: Locals should be
// global or static.
#ifndef CSP_CLS_LOCAL_H_
#define CSP_CLS_LOCAL_H_

#include <concepts>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "csp/cls/internal/local_base.h"
#include "csp/cls/internal/local_box.h"

namespace csp {

struct Inherit {
  explicit constexpr Inherit() = default;
};
// Tasks inherit the value of whoever starts them.
inline constexpr Inherit kInherit;

template <class T>
class Local : private internal::LocalBase {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                "Local<T>: T must be a plain object type; use a pointer, std::array or a struct");
  static_assert(std::is_nothrow_destructible_v<T>,
                "Local<T>: destroying T must not throw, since it happens at the end of a fiber");

  template <class F>
  static constexpr bool kInitialises = requires(const F& init) {
    T(init());
  };
  // (Here and below clang-format 14 takes constraints for other expressions.)
  // clang-format off
  template <class F>
  static constexpr bool kStateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;
  // clang-format on

 public:
  // A value is made by T's default constructor. If there is none, it must be Set or bound before it
  // is accessed.
  constexpr Local() : Local(internal::kLocalType<T, false>) {}
  explicit constexpr Local(Inherit) requires std::copy_constructible<T>
      : Local(internal::kLocalType<T, true>) {}

  // A value is made by `init()`, which may run in several threads at once. If it throws, there is
  // no value, and the next access tries again.
  template <class F>
  requires kInitialises<F>
  explicit constexpr Local(F init) : Local(internal::kLocalType<T, false>, std::move(init)) {}
  // clang-format off
  template <class F>
  requires (kInitialises<F> && std::copy_constructible<T>)
  constexpr Local(Inherit, F init)
      : Local(internal::kLocalType<T, true>, std::move(init)) {}
  // clang-format on

  // The value, made if there is none. Throws what the initialiser or the copy constructor throws,
  // std::bad_alloc; Panic if the initialiser uses this Local, or if there is no way to make a
  // value.
  T& Get() const { return *static_cast<T*>(GetValue()); }
  T& operator*() const { return Get(); }
  T* operator->() const { return std::addressof(Get()); }

  // The value if there is one, own or inherited; else null. Makes and copies nothing. Good until
  // the next Get or Set by this fiber.
  const T* Peek() const { return static_cast<const T*>(PeekValue()); }
  bool has_value() const { return PeekValue() != nullptr; }

  // Changes the value, or makes it; the initialiser is not called. Throws what T's assignment or
  // construction throws, std::bad_alloc; Panic inside the initialiser.
  template <class U = T>
  requires std::constructible_from<T, U>
  void Set(U&& value) {
    if constexpr (std::is_assignable_v<T&, U>) {
      if (void* found = FindAssignable()) {
        *static_cast<T*>(found) = std::forward<U>(value);
        return;
      }
    }
    StoreValue(&MakeFrom<U>, std::addressof(value));
  }
  // clang-format off
  template <class U = T>
  requires (std::constructible_from<T, U> && !std::same_as<std::remove_cvref_t<U>, Local>)
  Local& operator=(U&& value) {
    Set(std::forward<U>(value));
    return *this;
  }
  // clang-format on

  // Another value for the calling fiber as long as this object lives; then the one before is back,
  // untouched, or there is none again. Bindings nest. Belongs on the stack: ends the process if it
  // is destroyed by another fiber.
  class [[nodiscard]] Bind : private internal::LocalBase::BindBase {
   public:
    // clang-format off
    template <class U = T>
    requires std::constructible_from<T, U>
    Bind(const Local& local, U&& value)
        : internal::LocalBase::BindBase(local, &MakeFrom<U>, std::addressof(value)) {}
    // clang-format on
  };

 private:
  template <class F>
  struct Kept : internal::KeptInitialiser {
    explicit Kept(F f) : init(std::move(f)) {}
    const F init;
  };

  explicit constexpr Local(const internal::LocalType& type)
      : LocalBase(type, &MakeDefault, nullptr) {}
  template <class F>
  constexpr Local(const internal::LocalType& type, F init)
      : LocalBase(type, &MakeByInitialiser<F>, Keep(std::move(init))) {}

  // A captureless lambda needs no object, so that the Local is constant-initialised.
  template <class F>
  static constexpr const void* Keep(F init) {
    if constexpr (kStateless<F>) {
      return nullptr;
    } else {
      auto* kept = new Kept<F>(std::move(init));
      internal::KeepInitialiser(kept);
      return kept;
    }
  }

  static void MakeDefault(void* where, const void*) {
    if constexpr (std::is_default_constructible_v<T>) {
      ::new (where) T();
    } else {
      internal::ThrowNoInitialValue();
    }
  }
  template <class F>
  static void MakeByInitialiser(void* where, const void* kept) {
    if constexpr (kStateless<F>) {
      ::new (where) T(F()());
    } else {
      ::new (where) T(static_cast<const Kept<F>*>(kept)->init());
    }
  }
  template <class U>
  static void MakeFrom(void* where, const void* value) {
    using V = std::remove_reference_t<U>;
    ::new (where) T(std::forward<U>(*static_cast<V*>(const_cast<void*>(value))));
  }
};

}  // namespace csp

#endif  // CSP_CLS_LOCAL_H_
