// Shield: waits that cancellation leaves alone.
//
//   try {
//     Serve(conn);
//   } catch (const csp::Cancelled&) {
//     const csp::Shield shield;                 // the fiber is cancelled: without, Send would throw
//     out.Send(Goodbye());
//     throw;
//   }
#ifndef CSP_SELECT_SHIELD_H_
#define CSP_SELECT_SHIELD_H_

#include "csp/sched/parker.h"

namespace csp {

// While one lives on a fiber's stack, the fiber's blocking calls take no notice of cancellation:
// for clean-up that must wait. Nests. Owner's fiber only.
class Shield {
 public:
  Shield() : Shield(internal::Parker::Current()) {}
  // For csp itself: `self` is the caller.
  explicit Shield(internal::Parker* self) : parker_(self) { ++parker_->words.shield_depth; }
  ~Shield() { --parker_->words.shield_depth; }
  Shield(const Shield&) = delete;
  Shield& operator=(const Shield&) = delete;

 private:
  internal::Parker* const parker_;
};

}  // namespace csp

#endif  // CSP_SELECT_SHIELD_H_
