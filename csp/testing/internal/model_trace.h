// The schedule of an execution, as a failure prints it.
#ifndef CSP_TESTING_INTERNAL_MODEL_TRACE_H_
#define CSP_TESTING_INTERNAL_MODEL_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "csp/testing/internal/model_hooks.h"

namespace csp::testing::internal {

struct ModelStep {
  enum class Effect : std::uint8_t {
    kRead,
    kWrote,     // `value` is what it left
    kBuffered,  // ... in the thread's store buffer
    kNone,
  };

  std::uint8_t thread;
  ModelOp op;
  Effect effect;
  const void* address;
  std::uint64_t old;
  std::uint64_t value;
};

class ModelTrace {
 public:
  void Reset();
  void Add(const ModelStep& step) { steps_.push_back(step); }

  void NameThread(std::string name) { threads_.push_back(std::move(name)); }
  const std::string& thread(int number) const { return threads_[static_cast<std::size_t>(number)]; }
  void NameRange(const void* begin, std::size_t size, std::string name);

  // "queue+64", or "a3" for the third variable without a name.
  std::string Address(const void* address) const;
  // A number, or "&queue+64".
  std::string Value(std::uint64_t bits) const;
  // The step as one line: "thief  compare_exchange  queue+64  0 -> 1".
  std::string Line(const ModelStep& step) const;
  // All lines, numbered.
  std::string Schedule() const;

 private:
  struct Range {
    const char* begin;
    std::size_t size;
    std::string name;
  };

  const Range* Find(const void* address) const;

  std::vector<ModelStep> steps_;
  std::vector<std::string> threads_;  // by number; 0 is the body
  std::vector<Range> ranges_;
  mutable std::vector<const void*> unnamed_;
};

}  // namespace csp::testing::internal

#endif  // CSP_TESTING_INTERNAL_MODEL_TRACE_H_
