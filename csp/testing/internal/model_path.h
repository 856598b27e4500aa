// The decisions of one execution, and the depth-first walk over all of them.
//
// An execution asks Next wherever it could go on in several ways. The first
// part of its answers repeats the execution before it; at the first decision
// that has an untried alternative it turns off, and from there on always takes
// the first.
#ifndef CSP_TESTING_INTERNAL_MODEL_PATH_H_
#define CSP_TESTING_INTERNAL_MODEL_PATH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace csp::testing::internal {

class ModelPath {
 public:
  void Restart() { position_ = 0; }

  // True once nothing is left to repeat.
  bool new_ground() const { return position_ == decisions_.size(); }

  // One of 0 ... ways - 1; or -1 if the execution does not repeat the last one,
  // which makes the walk meaningless.
  int Next(int ways) {
    if (ways == 1) return 0;
    if (new_ground()) decisions_.push_back({ways, 0});
    const Decision& decision = decisions_[position_++];
    return decision.ways == ways ? decision.taken : -1;
  }

  // Turns to the next path. False if there is none.
  bool Advance() {
    decisions_.resize(position_);  // a run that was cut short decided no more
    while (!decisions_.empty() && decisions_.back().taken + 1 == decisions_.back().ways) {
      decisions_.pop_back();
    }
    if (decisions_.empty()) return false;
    ++decisions_.back().taken;
    return true;
  }

 private:
  struct Decision {
    int ways;
    int taken;
  };
  std::vector<Decision> decisions_;
  std::size_t position_ = 0;
};

}  // namespace csp::testing::internal

#endif  // CSP_TESTING_INTERNAL_MODEL_PATH_H_
