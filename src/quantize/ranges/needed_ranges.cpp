#include "quantize/ranges/needed_ranges.h"

#include <algorithm>
#include <cmath>

#include "ops/kernel.h"
#include "ops/op_def.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

constexpr double kSteps = 255;  // of 8 bits

// What one reader makes of the tensor, at points over what was seen of it.
using Curve = std::vector<float>;

bool is_number(const Tensor* tensor) {
  return tensor->is_constant() && tensor->type().num_elements() == 1;
}

// A function of its first operand alone: others are numbers, such as the bounds of a clip.
bool is_curve(const Operation& op) {
  return op.def().traits.elementwise && !op.inputs().empty() && op.outputs().size() == 1 &&
         op.output()->dtype() == DType::F32 &&
         std::all_of(op.inputs().begin() + 1, op.inputs().end(),
                     [](const Tensor* t) { return t == nullptr || is_number(t); });
}

class Finder {
 public:
  Finder(const Graph& graph, const Range& seen)
      : graph_(graph), seen_(seen), points_(tuning::kCurvePoints) {
    const double width = static_cast<double>(seen.max) - static_cast<double>(seen.min);
    for (size_t i = 0; i < points_.size(); ++i)
      points_[i] = static_cast<float>(static_cast<double>(seen.min) +
                                      width * static_cast<double>(i) / (tuning::kCurvePoints - 1));
  }

  std::optional<Range> needed(const Tensor& tensor) const {
    if (tensor.uses().empty() || graph_.is_output(&tensor)) return std::nullopt;
    std::optional<Range> needed;
    for (const Use& use : tensor.uses()) {
      if (is_gate(*use.op, tensor)) continue;
      const std::optional<Range> by_reader = needed_by(*use.op, tensor);
      if (!by_reader) return std::nullopt;
      needed = needed ? hull(*needed, *by_reader) : *by_reader;
    }
    if (!needed || span_with_zero(*needed) > tuning::kNeededShare * span_with_zero(seen_))
      return std::nullopt;
    return needed;
  }

 private:
  // x * g(x): the product tells what of x counts, for g as well.
  static const Operation* gate_of(const Operation& product, const Tensor& x) {
    if (product.kind() != OpKind::Mul || product.inputs().size() != 2) return nullptr;
    const Tensor* other = product.input(product.input(0) == &x ? 1 : 0);
    const Operation* gate = other->producer();
    return gate != nullptr && is_curve(*gate) && gate->input(0) == &x ? gate : nullptr;
  }
  bool is_gate(const Operation& op, const Tensor& x) const {
    return is_curve(op) && graph_.has_single_use(op.output()) &&
           gate_of(*op.output()->uses().front().op, x) == &op;
  }

  std::optional<Range> needed_by(const Operation& op, const Tensor& x) const {
    if (is_curve(op) && op.input(0) == &x) return told_apart(curve_of(op));
    if (const Operation* gate = gate_of(op, x)) {
      std::optional<Curve> curve = curve_of(*gate);
      if (!curve) return std::nullopt;
      for (size_t i = 0; i < points_.size(); ++i) (*curve)[i] *= points_[i];
      return told_apart(curve);
    }
    return within_constants(op, x);
  }

  std::optional<Curve> curve_of(const Operation& op) const {
    std::vector<Value> values;
    values.push_back(Value::of<float>({tuning::kCurvePoints}, points_));
    for (const Tensor* number : std::span(op.inputs()).subspan(1))
      values.push_back(number == nullptr
                           ? Value()
                           : Value(number->dtype(), number->shape()->sizes(), number->data()));
    std::vector<const Value*> inputs;
    for (size_t i = 0; i < values.size(); ++i)
      inputs.push_back(op.input(i) == nullptr ? nullptr : &values[i]);
    Result<std::vector<Value>> y = evaluate(op, inputs);
    if (!y || y->size() != 1 || (*y)[0].dtype != DType::F32) return std::nullopt;
    const auto results = (*y)[0].as<float>();
    if (results.size() != points_.size() ||
        !std::all_of(results.begin(), results.end(), [](float v) { return std::isfinite(v); }))
      return std::nullopt;
    return Curve(results.begin(), results.end());
  }

  // A minimum with constants cuts off what is above all of them, a maximum what is below.
  std::optional<Range> within_constants(const Operation& op, const Tensor& x) const {
    if ((op.kind() != OpKind::Min && op.kind() != OpKind::Max) || op.inputs().size() != 2)
      return std::nullopt;
    const Tensor* bounds = op.input(op.input(0) == &x ? 1 : 0);
    if (!bounds->is_constant() || bounds->dtype() != DType::F32) return std::nullopt;
    bool finite = true;
    const Range range = range_of(bounds->values<float>(), finite);
    if (!finite) return std::nullopt;
    if (op.kind() == OpKind::Min)
      return Range{seen_.min, std::clamp(range.max, seen_.min, seen_.max)};
    return Range{std::clamp(range.min, seen_.min, seen_.max), seen_.max};
  }

  // The points beyond which, on either side, the curve is flat for the steps of its results.
  std::optional<Range> told_apart(const std::optional<Curve>& curve) const {
    if (!curve) return std::nullopt;
    const auto [low, high] = std::minmax_element(curve->begin(), curve->end());
    const double moved = tuning::kUnnoticed / kSteps * span_with_zero({*low, *high});
    const size_t first = flat_until(curve->begin(), curve->end(), moved);
    const size_t last = points_.size() - 1 - flat_until(curve->rbegin(), curve->rend(), moved);
    if (first >= last) return std::nullopt;
    return Range{points_[first], points_[last]};
  }
  // Index of the last value that all before it differ from by no more than that.
  template <class It>
  static size_t flat_until(It at, It end, double moved) {
    double low = static_cast<double>(*at), high = low;
    size_t flat = 0;
    for (size_t i = 0; at != end; ++at, ++i) {
      const double value = static_cast<double>(*at);
      low = std::min(low, value);
      high = std::max(high, value);
      if (value - low <= moved && high - value <= moved) flat = i;
    }
    return flat;
  }

  const Graph& graph_;
  const Range seen_;
  Curve points_;
};

}  // namespace

std::vector<std::optional<Range>> needed_ranges(const Graph& graph, const Plan& plan,
                                                const Ranges& seen) {
  std::vector<std::optional<Range>> needed(graph.tensor_id_bound());
  for (const Tensor* tensor : graph.tensors()) {
    const uint32_t id = tensor->id();
    // Calibration saw only the values that matter.
    if (plan.reading[id] != Reading::Whole) needed[id] = seen[id];
    if (needed[id] || !seen[id] || !(seen[id]->min < seen[id]->max) ||
        width_of(plan.stored_form(tensor)) == Width::Wide)
      continue;
    needed[id] = Finder(graph, *seen[id]).needed(*tensor);
  }
  return needed;
}

}  // namespace ec::quantize
