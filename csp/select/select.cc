// The algorithm of Select: look, take, arm, sleep, disarm.
//
//  1. Look: which cases seem ready? A load each. Try those, in random or declared order; the first
//     that can be taken ends the select with nothing published.
//  2. Nothing ready and a Default: look again. If no summary has moved, Default.
//  3. Publish an attempt and arm the cases one by one, each under its object's lock, which looks
//     again. If one is ready after all: abort the attempt, disarm, start over. If the abort fails,
//     somebody has decided for us: go on.
//  4. Sleep until the one wake, disarm the losers, accept.
//
// Why no wake-up is lost: two selects that could pair arm on a common object under its lock. The
// later one sees the earlier one's waiter there: either undecided, then it does not sleep but
// starts over and takes it; or decided, then the earlier one wakes.
//
// Starting over can repeat if several selects keep meeting half armed. The order of arming is
// random, and after a few rounds the fiber gives way, which breaks the symmetry.
//
// Rejected: locking all objects in address order (Go): n locks held at once, and every object must
// show its lock. Rejected for now: a tentative claim with an order among attempts (select.md 4.3),
// which never starts over but is harder to review.
#include "csp/select/select.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "csp/base/panic.h"
#include "csp/select/blocking.h"
#include "csp/select/cancel_signal.h"
#include "csp/select/retry.h"

namespace csp::internal {
namespace {

constexpr ParkReason kReason{"Select", "select"};

// At most one bit. (std::has_single_bit counts them, by a call where the processor may not have an
// instruction for it.)
constexpr bool IsSingle(std::uint64_t bits) { return (bits & (bits - 1)) == 0; }

class Selection {
 public:
  // Takes the first look along the way.
  Selection(Case* const* cases, int count, Order order)
      : cases_(cases), count_(static_cast<std::uint32_t>(count)), order_(order) {
    for (int i = 0; i < count; ++i) {
      if (cases[i] == nullptr || cases[i]->kind() == Case::Kind::kNever) continue;
      const std::uint64_t bit = std::uint64_t{1} << i;
      live_ |= bit;
      if (cases[i]->kind() == Case::Kind::kSummary) {
        ready_ += LooksReady(i) ? bit : 0;
      } else {
        (cases[i]->kind() == Case::Kind::kAsk ? ask_ : last_) |= bit;
      }
    }
    ready_ |= ask_;
  }

  bool has_live_case() const { return live_ != 0; }

  // Looks which cases seem ready.
  void Look() {
    ready_ = ask_;
    ForEachSummary([&](int i) { ready_ |= std::uint64_t{LooksReady(i)} << i; });
  }

  // Takes one of those that seemed ready at the last look; -1 if none could be.
  int TakeReady() {
    // In declared order a moment that has come has its place, too.
    const int won = TakeOneOf(order_ == Order::kDeclared ? ready_ | last_ : ready_);
    return won < 0 && last_ != 0 && order_ == Order::kFair ? TakeDue() : won;
  }

  // -1 if at one instant nothing was ready; a case that has been taken; or kUnclear.
  static constexpr int kUnclear = -2;
  int TakeReadyOrNothing() {
    constexpr int kRounds = 4;
    std::array<std::uint64_t, 64> before;
    for (int round = 0; round < kRounds; ++round) {
      ForEachSummary([&](int i) { before[i] = cases_[i]->summary()->Read(); });
      Look();
      const int won = TakeReady();
      if (won >= 0) return won;
      bool moved = false;
      ForEachSummary([&](int i) { moved |= cases_[i]->summary()->Read() != before[i]; });
      // Cases that must be asked were asked at different instants; one alone is exact.
      if (!moved) return ask_ == 0 || IsSingle(live_) ? -1 : kUnclear;
    }
    return kUnclear;
  }

  // Arms all live cases; false if one turned out to be ready, or somebody decided meanwhile.
  bool Arm(const Attempt& attempt) {
    armed_ = 0;
    std::uint64_t rest = live_ & ~last_;
    // A random first case is enough to break symmetry; declared order must be kept.
    const int turn = order_ == Order::kFair ? static_cast<int>(RandomBelow(count_)) : 0;
    while (rest != 0) {
      const std::uint64_t turned = std::rotr(rest, turn);
      const int i = (std::countr_zero(turned) + turn) % 64;
      rest &= ~(std::uint64_t{1} << i);
      if (!ArmOne(attempt, i)) return false;
    }
    // As written, so that of two equal timeouts the first is not the later one.
    for (rest = last_; rest != 0; rest &= rest - 1) {
      if (!ArmOne(attempt, std::countr_zero(rest))) return false;
    }
    return true;
  }

  // The case `won` has been claimed. If it is a moment, and one written before it is the same: takes
  // that one, and disarms `won` like the others; else -1.
  int TakeSameMomentBefore(int won) {
    const std::uint64_t bit = std::uint64_t{1} << won;
    if ((last_ & bit) == 0) return -1;
    for (std::uint64_t before = last_ & (bit - 1); before != 0; before &= before - 1) {
      const int i = std::countr_zero(before);
      if (cases_[i]->moment() != cases_[won]->moment() || !cases_[i]->Poll()) continue;
      cases_[won]->Disarm();
      return i;
    }
    return -1;
  }

  void DisarmAllBut(int winner) {
    for (; armed_ != 0; armed_ &= armed_ - 1) {
      const int i = std::countr_zero(armed_);
      if (i != winner) cases_[i]->Disarm();
    }
  }

 private:
  template <class Visit>
  void ForEachSummary(Visit visit) {
    for (std::uint64_t rest = live_ & ~(ask_ | last_); rest != 0; rest &= rest - 1) {
      visit(std::countr_zero(rest));
    }
  }

  bool ArmOne(const Attempt& attempt, int i) {
    cases_[i]->waiter.Bind(attempt, i);
    armed_ |= std::uint64_t{1} << i;
    return cases_[i]->Arm() == Arming::kArmed && attempt.pending();
  }

  // Of the moments that have come, the earliest; of equal ones the first written.
  int TakeDue() {
    if (IsSingle(last_)) return TakeOneOf(last_);
    for (std::uint64_t rest = last_; rest != 0;) {
      int first = std::countr_zero(rest);
      for (std::uint64_t others = rest & (rest - 1); others != 0; others &= others - 1) {
        const int i = std::countr_zero(others);
        if (cases_[i]->moment() < cases_[first]->moment()) first = i;
      }
      if (cases_[first]->Poll()) return first;
      rest &= ~(std::uint64_t{1} << first);
    }
    return -1;
  }

  int TakeOneOf(std::uint64_t ready) {
    while (ready != 0) {
      const int i =
          order_ == Order::kDeclared || IsSingle(ready) ? std::countr_zero(ready) : AnyOf(ready);
      if (cases_[i]->Poll()) return i;
      ready &= ~(std::uint64_t{1} << i);
    }
    return -1;
  }

  bool LooksReady(int i) const {
    return (cases_[i]->summary()->Read() & cases_[i]->ready_bits()) != 0;
  }

  // The place of one of the bits, each as likely as the other.
  int AnyOf(std::uint64_t bits) const {
    // (std::popcount is a call where the processor may not have the instruction.)
    std::uint32_t ones = 0;
    for (std::uint32_t i = 0; i < count_; ++i) ones += bits >> i & 1;
    for (std::uint32_t skip = RandomBelow(ones); skip > 0; --skip) bits &= bits - 1;
    return std::countr_zero(bits);
  }

  Case* const* const cases_;
  const std::uint32_t count_;
  const Order order_;
  std::uint64_t live_ = 0;   // take part
  std::uint64_t ask_ = 0;    // of them, those without a summary
  std::uint64_t last_ = 0;   // of them, those that lose to all others, save in declared order
  std::uint64_t ready_ = 0;  // seemed ready at the last look
  std::uint64_t armed_ = 0;
};

// Of a caller that is cancelled: whether Cancelled is to tell it. Not if one of the cases does, the
// token of the scope that it is in: whatever cancels the scope is that event.
bool IsToBeTold(const Parker& parker, Case* const* cases, int count) {
  if ((parker.words.cancel.load(std::memory_order_relaxed) & kTaskCancelled) != 0) return true;
  const CancelBinding* scope = parker.words.binding;
  return scope == nullptr || std::none_of(cases, cases + count, [scope](const Case* one) {
           return one != nullptr && one->summary() == &scope->signal().summary();
         });
}

// EnterBlocking, for a select.
Parker* Enter(Case* const* cases, int count) {
  Parker* parker = EnterUntold();
  if (IsCancelled(*parker) && IsToBeTold(*parker, cases, count)) [[unlikely]] {
    ThrowIfCancelled(*parker);
  }
  return parker;
}

}  // namespace

int RunSelect(Case* const* cases, int count, Order order, bool has_default) {
  Parker* parker = has_default ? Parker::Current() : Enter(cases, count);
  Selection selection(cases, count, order);
  if (!selection.has_live_case()) {
    if (has_default) return kTookDefault;
    throw NoLiveCase(
        "Select: no case can ever be ready (nil channels, empty task handles or When(false) "
        "only); add a Default, or wait for something that can happen");
  }
  bool shielded = has_default || parker->words.shield_depth != 0;
  std::uint64_t heeded = kTaskCancelled | kScopeCancelled;
  for (int round = 0;; ++round) {
    if (has_default) {
      const int won = selection.TakeReadyOrNothing();
      if (won >= 0) return won;
      if (won != Selection::kUnclear) return kTookDefault;
    } else {
      if (round != 0) selection.Look();
      const int won = selection.TakeReady();
      if (won >= 0) return won;
    }
    Attempt attempt(parker);
    if (!attempt.Begin(shielded, heeded)) {
      if (IsToBeTold(*parker, cases, count)) {
        ThrowIfCancelled(*parker);
        shielded = true;  // unwinding
      } else {
        heeded = kTaskCancelled;  // the case is ready, or will be in a moment
      }
      continue;
    }
    bool armed = false;
    try {
      armed = selection.Arm(attempt);
    } catch (...) {
      if (attempt.Abort()) {
        selection.DisarmAllBut(-1);
        throw;
      }
      // Decided before: what has happened stands, and nothing more had to be armed.
    }
    if ((!armed || has_default) && attempt.Abort()) {
      selection.DisarmAllBut(-1);
      if (armed) return kTookDefault;  // nothing was ready at the moment of the last Arm
      BackOff(round);
      continue;
    }
    const int won = attempt.Await(kReason, nullptr);
    selection.DisarmAllBut(won);
    if (won != Attempt::kCancelled) {
      const int same = selection.TakeSameMomentBefore(won);
      if (same >= 0) return same;
      if (cases[won]->Accept()) return won;
      continue;
    }
    if (!IsToBeTold(*parker, cases, count)) continue;
    ThrowIfCancelled(*parker);
    shielded = Shielded(*parker);
  }
}

}  // namespace csp::internal
