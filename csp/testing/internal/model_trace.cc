#include "csp/testing/internal/model_trace.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace csp::testing::internal {
namespace {

const char* OpName(ModelOp op) {
  switch (op) {
    case ModelOp::kNone:
      return "";
    case ModelOp::kLoad:
      return "load";
    case ModelOp::kStore:
      return "store";
    case ModelOp::kExchange:
      return "exchange";
    case ModelOp::kCompareExchange:
      return "compare_exchange";
    case ModelOp::kFetchAdd:
      return "fetch_add";
    case ModelOp::kFetchSub:
      return "fetch_sub";
    case ModelOp::kFetchAnd:
      return "fetch_and";
    case ModelOp::kFetchOr:
      return "fetch_or";
    case ModelOp::kFetchXor:
      return "fetch_xor";
    case ModelOp::kRelax:
      return "CpuRelax";
    case ModelOp::kEnd:
      return "destructor";
    case ModelOp::kBarrier:
      return "HeavyBarrier";
    case ModelOp::kDrain:
      return "(store visible)";
    case ModelOp::kChoose:
      return "choose";
  }
  return "?";
}

}  // namespace

void ModelTrace::Reset() {
  steps_.clear();
  threads_.clear();
  ranges_.clear();
  unnamed_.clear();
}

void ModelTrace::NameRange(const void* begin, std::size_t size, std::string name) {
  ranges_.push_back({static_cast<const char*>(begin), size, std::move(name)});
}

const ModelTrace::Range* ModelTrace::Find(const void* address) const {
  const char* byte = static_cast<const char*>(address);
  const Range* smallest = nullptr;
  for (const Range& range : ranges_) {
    if (byte < range.begin || byte >= range.begin + range.size) continue;
    if (smallest == nullptr || range.size < smallest->size) smallest = &range;
  }
  return smallest;
}

std::string ModelTrace::Address(const void* address) const {
  if (const Range* range = Find(address)) {
    const auto offset = static_cast<const char*>(address) - range->begin;
    if (offset == 0) return range->name;
    return range->name + "+" + std::to_string(offset);
  }
  auto known = std::find(unnamed_.begin(), unnamed_.end(), address);
  if (known == unnamed_.end()) known = unnamed_.insert(known, address);
  return "a" + std::to_string(known - unnamed_.begin() + 1);
}

std::string ModelTrace::Value(std::uint64_t bits) const {
  const void* pointer = reinterpret_cast<const void*>(bits);
  if (Find(pointer) != nullptr) return "&" + Address(pointer);
  constexpr std::uint64_t kDecimal = 100'000;
  if (bits < kDecimal) return std::to_string(bits);
  return absl::StrFormat("%#x", bits);
}

std::string ModelTrace::Line(const ModelStep& step) const {
  std::string value;
  switch (step.effect) {
    case ModelStep::Effect::kRead:
      value = (step.op == ModelOp::kDrain ? "-> " : "is ") + Value(step.value);
      break;
    case ModelStep::Effect::kWrote:
      value = Value(step.old) + " -> " + Value(step.value);
      break;
    case ModelStep::Effect::kBuffered:
      value = "-> " + Value(step.value) + " (in its store buffer)";
      break;
    case ModelStep::Effect::kNone:
      if (step.op == ModelOp::kChoose) value = Value(step.value);
      break;
  }
  const std::string address = step.address != nullptr ? Address(step.address) : "";
  return absl::StrFormat("%-10s %-16s %-16s %s", threads_[step.thread], OpName(step.op), address,
                         value);
}

std::string ModelTrace::Schedule() const {
  // Of a livelock, the way into it and some rounds.
  constexpr std::size_t kFirst = 150;
  constexpr std::size_t kLast = 50;
  std::string text;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_.size() > kFirst + kLast && i == kFirst) {
      i = steps_.size() - kLast;
      text += "       ...\n";
    }
    absl::StrAppendFormat(&text, "%5d  %s\n", i + 1, Line(steps_[i]));
  }
  return text;
}

}  // namespace csp::testing::internal
