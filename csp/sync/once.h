// Something that is done once, by whoever comes first; and a value that is made so.
//
//   csp::Once loaded;
//   loaded.Call([&] { Load(); });                     // from anywhere, any number of times
//
//   const csp::OnceValue config([] { return ReadConfig(); });
//   Use(config.Get());                                // made on first use
//
// Whoever comes while it is being done waits for its end, a fiber without holding a thread. If the
// function throws, the exception goes to its caller, nothing has been done, and the next one who
// waits, or comes, tries in his turn (as std::call_once).
//
// Thread rules: all members from any fiber or thread. It may be destroyed as soon as any Call has
// returned normally and nobody else will call, even while the one that did it is on its way out.
// Memory ordering: what the function did is visible after every Call that returns.
// Cost: one load once it is done; no allocation. No cancellation point: a cancelled fiber waits,
// too; what the function itself waits for is cancelled as ever, and counts as a throw.
#ifndef CSP_SYNC_ONCE_H_
#define CSP_SYNC_ONCE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "csp/base/atomic.h"
#include "csp/select/wait_list.h"

namespace csp {

class Once {
 public:
  constexpr Once() = default;
  Once(const Once&) = delete;
  Once& operator=(const Once&) = delete;

  // Calls `f()` if no call has come to its end yet, or waits for the one that is at it. On return
  // it is done. Throws what `f` throws; SyncError if called by `f` itself, which would wait for its
  // own end.
  template <class F>
  void Call(F&& f) {
    static_assert(
        std::is_invocable_v<F>,
        "Once::Call: the function takes no arguments; give a lambda that captures what it "
        "needs");
    // Pairs with the release in Leave.
    if (word_.load(std::memory_order_acquire) == kDone) [[likely]] {
      return;
    }
    if (!Enter()) return;
    Leaving leaving(*this);
    std::invoke(std::forward<F>(f));
    leaving.done = true;
  }

  // True if a call has come to its end.
  bool done() const { return word_.load(std::memory_order_acquire) == kDone; }

 private:
  // `word_`: one of these, and kQueue while somebody is at the waiters; see once.cc.
  static constexpr std::uint32_t kIdle = 0;
  static constexpr std::uint32_t kRunning = 1;
  static constexpr std::uint32_t kDone = 2;
  static constexpr std::uint32_t kQueue = 4;

  struct Leaving {
    explicit Leaving(Once& the_once) : once(the_once) {}
    ~Leaving() { once.Leave(done); }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    Once& once;
    bool done = false;
  };

  bool Enter();
  void Leave(bool done);

  internal::Atomic<std::uint32_t> word_{kIdle};
  internal::Atomic<const internal::Parker*> runner_{nullptr};  // who is at it
  WaitList waiters_;                                           // guarded by kQueue
};

// A value that is made by `F` on first use. T is what F returns.
template <class F>
class OnceValue {
  static_assert(!std::is_void_v<std::invoke_result_t<F&>>,
                "OnceValue: the function returns nothing that could be kept; use a Once");

 public:
  using Value = std::remove_cvref_t<std::invoke_result_t<F&>>;

  explicit OnceValue(F make) : make_(std::move(make)) {}
  OnceValue(const OnceValue&) = delete;
  OnceValue& operator=(const OnceValue&) = delete;

  // The value; makes it, or waits for whoever is at it. Throws what the function throws; the next
  // Get then tries again.
  const Value& Get() const {
    once_.Call([this] { value_.emplace(std::invoke(make_)); });
    return *value_;
  }
  const Value& operator*() const { return Get(); }
  const Value* operator->() const { return &Get(); }

  // True if Get would neither wait nor make it.
  bool made() const { return once_.done(); }

 private:
  mutable Once once_;
  mutable F make_;                      // called by whoever is at it
  mutable std::optional<Value> value_;  // written before done
};

}  // namespace csp

#endif  // CSP_SYNC_ONCE_H_
