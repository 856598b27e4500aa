// A model thread as a Parker: what the scheduler gives to the wait protocol, without a scheduler.
//
//   ModelParker ann;
//   run.Thread("ann", [&] {
//     ann.Enter();          // Parker::Current() is `ann` from here on
//     …
//   });
//
// Fails the model if a Park has two Unparks, or if one is left over (CheckQuiet, after the Join).
#ifndef CSP_TESTS_MODEL_MODEL_PARKER_H_
#define CSP_TESTS_MODEL_MODEL_PARKER_H_

#include <cstdint>

#include "csp/base/random.h"
#include "csp/sched/parker.h"
#include "csp/testing/model.h"

namespace csp::internal {

class ModelParker final : public Parker {
 public:
  // The task that it runs, for CancelParker.
  static constexpr std::uint64_t kTask = 1;

  explicit ModelParker(csp::testing::ModelRun& run) : Parker(Kind::kThread), run_(run) {
    words.cancel.store(kTask << 1);
  }

  void Enter();
  void CheckQuiet();

  static ModelParker& Current() { return static_cast<ModelParker&>(*Parker::Current()); }
  Random& random() { return random_; }

 private:
  friend class Parker;
  void Wait();
  void Notify();

  csp::testing::ModelRun& run_;
  Atomic<bool> unparked_{false};
  Random random_{1};
};

}  // namespace csp::internal

#endif  // CSP_TESTS_MODEL_MODEL_PARKER_H_
