#include "csp/sync/internal/permits.h"

#include <mutex>

namespace csp::internal {

std::int64_t Permits::available() const {
  const std::lock_guard lock(mu_);
  return available_;
}

bool Permits::has_waiters() const {
  const std::lock_guard lock(mu_);
  return !line_.empty();
}

bool Permits::Take(std::int64_t weight) {
  const std::lock_guard lock(mu_);
  if (available_ < weight || line_.HasRival(nullptr)) return false;
  available_ -= weight;
  return true;
}

bool Permits::Give(std::int64_t weight, std::int64_t at_least) {
  WakeList wake;
  {
    const std::lock_guard lock(mu_);
    if (weight < 0 || weight > size_ - available_ || available_ < at_least) return false;
    available_ += weight;
    Serve(wake);
  }
  wake.WakeAll();
  return true;
}

// Under mu_: gives permits to those whose turn it is, as far as they go.
void Permits::Serve(WakeList& wake) {
  while (Waiter* first = line_.front()) {
    const std::int64_t weight = *static_cast<const std::int64_t*>(first->slot);
    // One that has been decided elsewhere must not hold up the line until he has left it.
    if (weight > available_ && first->StillWaits()) return;
    line_.Remove(*first);
    if (!first->TryClaim()) continue;
    available_ -= weight;
    wake.Add(*first);
  }
}

Arming Permits::TakeCase::Arm() {
  const std::lock_guard lock(permits_.mu_);
  // (A select may stand in one line twice; its own waiters are nobody else's.)
  if (permits_.available_ >= weight_ && !permits_.line_.HasRival(waiter.parker())) {
    return Arming::kReady;
  }
  waiter.slot = &weight_;
  permits_.line_.PushBack(waiter);
  return Arming::kArmed;
}

void Permits::TakeCase::Disarm() noexcept {
  WakeList wake;
  {
    const std::lock_guard lock(permits_.mu_);
    permits_.line_.Remove(waiter);
    permits_.Serve(wake);
  }
  wake.WakeAll();
}

}  // namespace csp::internal
