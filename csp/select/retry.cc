#include "csp/select/retry.h"

#include "csp/base/random.h"
#include "csp/sched/yield.h"

namespace csp::internal {

std::uint32_t RandomBelow(std::uint32_t bound) { return ThisRandom().Below(bound); }

void BackOff(int round) {
  constexpr int kPatience = 3;
  NoteSelectRetry();
  if (round >= kPatience) YieldNow();
}

bool SpinMayPay() { return SpinMayHelp(); }

}  // namespace csp::internal
