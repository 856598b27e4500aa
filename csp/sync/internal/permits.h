// Permits, and who stands in line for them: what Semaphore and RWMutex are made of.
//
// Invariants
//  1. Permits are in one place: available, or taken by one whose claim has succeeded.
//  2. Whenever mu_ is free, either nobody waits undecided, or the first who does wants more than
//     are available. So after each change of the number or of the head of the line, Serve.
//  3. Permits are given in the claim: a waiter that is claimed has them, one that is not has none.
//     Whoever has been decided elsewhere is dropped, or leaves by himself, and then the line moves
//     up.
//  4. Nobody overtakes: who finds somebody else undecided in the line gets nothing before him.
//  5. Claims are made under mu_, wakes come after it: a wake is the giver's last touch.
//
// Lock: mu_ guards everything but the size.
#ifndef CSP_SYNC_INTERNAL_PERMITS_H_
#define CSP_SYNC_INTERNAL_PERMITS_H_

#include <cstdint>

#include "csp/base/leaning_lock.h"
#include "csp/select/case.h"
#include "csp/select/wait_list.h"

namespace csp::internal {

class Permits {
 public:
  class TakeCase;

  // 0 <= available <= size.
  Permits(std::int64_t size, std::int64_t available) : size_(size), available_(available) {}
  Permits(const Permits&) = delete;
  Permits& operator=(const Permits&) = delete;

  std::int64_t size() const { return size_; }
  std::int64_t available() const;
  bool has_waiters() const;

  // Takes `weight`, in [0, size], if they are there and nobody is in the line.
  bool Take(std::int64_t weight);

  // Gives `weight` back and serves the line. False, and nothing has changed, if it is negative or
  // makes more than the size, or if fewer than `at_least` were available before.
  bool Give(std::int64_t weight, std::int64_t at_least = 0);

 private:
  void Serve(WakeList& wake);

  const std::int64_t size_;
  mutable LeaningLock mu_;
  std::int64_t available_;
  WaitList line_;
};

// The taking of `weight` as a case; the derived class says in whose name.
class Permits::TakeCase : public Case {
 public:
  bool Poll() final { return permits_.Take(weight_); }
  Arming Arm() final;
  void Disarm() noexcept final;

 protected:
  TakeCase(Permits& permits, std::int64_t weight)
      : Case(Kind::kAsk), permits_(permits), weight_(weight) {}
  ~TakeCase() = default;

 private:
  Permits& permits_;
  std::int64_t weight_;  // the waiter's slot points to it
};

}  // namespace csp::internal

#endif  // CSP_SYNC_INTERNAL_PERMITS_H_
