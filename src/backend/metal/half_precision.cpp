#include "backend/metal/half_precision.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "backend/tflite/formulas.h"
#include "ops/attrs.h"
#include "ops/op_def.h"
#include "passes/match.h"
#include "passes/rewriter.h"
#include "support/halves.h"
#include "support/small_float.h"

namespace ec::metal {
namespace {

// Beyond this an expression is no norm.
constexpr size_t kLongestChain = 16;

bool is_single(const Tensor* tensor) {
  return tensor != nullptr && tensor->dtype() == DType::F32 && !tensor->type().quant;
}

// Operands that say how to compute, in single precision whatever the values are.
bool is_parameter(const Operation& op, size_t i) { return op.kind() == OpKind::Resize && i > 0; }

// One tiny number is there to keep a divisor from zero.
bool is_tiny(const Tensor* constant) {
  const auto values = constant->values<float>();
  return values.size() == 1 && values[0] != 0 && half_to_float(float_to_half(values[0])) == 0;
}

// Whether the value is kept from zero by such a number alone: it would be zero as a half.
bool is_kept_from_zero(const Tensor* tensor) {
  for (size_t i = 0; i < kLongestChain && is_single(tensor) && tensor->producer() != nullptr; ++i) {
    const Operation& op = *tensor->producer();
    switch (op.kind()) {
      case OpKind::Max:
      case OpKind::Clip:
      case OpKind::Add:
        return std::ranges::any_of(op.inputs(), [](const Tensor* input) {
          return is_single(input) && input->is_constant() && is_tiny(input);
        });
      case OpKind::Expand:
      case OpKind::Reshape:
      case OpKind::Squeeze:
      case OpKind::Unsqueeze:
      case OpKind::Transpose:
      case OpKind::Sqrt:
        tensor = op.input(0);
        break;
      default:
        return false;
    }
  }
  return false;
}

bool is_inverse(const Operation* op) {
  return op != nullptr && (op->kind() == OpKind::Reciprocal || op->kind() == OpKind::Rsqrt);
}

// What has no result for zero, and what is multiplied by an inverse, which would be infinite.
const Tensor* divisor_of(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Div:
      return op.input(1);
    case OpKind::Mul:
      for (const Tensor* factor : op.inputs())
        if (is_inverse(factor->producer())) return factor->producer()->input(0);
      return nullptr;
    case OpKind::Reciprocal:
    case OpKind::Rsqrt:
    case OpKind::Log:
      return op.input(0);
    default:
      return nullptr;
  }
}

// Why a constant cannot be one of half precision; empty: it can.
std::string fault_of(const Tensor* constant) {
  const auto values = constant->values<float>();
  for (const float value : values) {
    const float size = std::abs(value);
    if (size > kLargestHalf && size < kInfinite)
      return "a constant of " + std::to_string(value) + " is beyond half precision";
  }
  if (is_tiny(constant))
    return "a constant of " + std::to_string(values[0]) + " is zero in half precision";
  return {};
}

// The same for a parameter of the operation.
std::string fault_of(const Attrs& attrs) {
  for (const Field& field : attrs.schema().fields) {
    if (field.kind != FieldKind::Float) continue;
    const double value = std::get<double>(attrs.get(field));
    if (std::abs(value) > double{kLargestHalf} && std::abs(value) < double{kInfinite})
      return std::string(field.name) + " of " + std::to_string(value) + " is beyond half precision";
  }
  return {};
}

class HalfPrecision {
 public:
  HalfPrecision(Graph& graph, const HalfPrecisionOptions& options)
      : graph_(graph), options_(options) {}

  Result<std::vector<KeptSingle>> run() {
    for (const Operation* op : graph_.topological()) find_delicate(*op);
    for (Operation* op : graph_.topological()) {
      for (const auto& body : op->bodies()) {
        EC_TRY(std::vector<KeptSingle> kept, HalfPrecision(*body, options_).run());
        kept_.insert(kept_.end(), kept.begin(), kept.end());
      }
      EC_TRY(const bool border, is_border(*op));
      if (border) continue;
      if (computes_on_half(*op))
        EC_CHECK_OK(convert(*op));
      else
        EC_CHECK_OK(connect(*op));
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (!halves_.contains(graph_.outputs()[i])) continue;
      EC_TRY(Tensor * single, single_of(graph_.outputs()[i]));
      graph_.set_output(i, single);
    }
    PassContext context;
    Rewriter rewriter(graph_, context);
    for (auto id = static_cast<uint32_t>(graph_.operation_id_bound()); id-- > 0;)
      if (Operation* op = graph_.operation(id)) rewriter.erase_if_unused(op);
    take_over_names();
    return std::move(kept_);
  }

 private:
  // Constants in single precision that went with their operations leave their names to those that
  // took their place.
  void take_over_names() {
    for (const Operation* op : graph_.topological())
      for (Tensor* input : op->inputs()) {
        const auto found = constants_.find(input);
        if (found == constants_.end()) continue;
        graph_.rename(input, std::move(found->second));
        constants_.erase(found);
      }
  }

  // Operations without floats are neither.
  bool computes_on_half(const Operation& op) {
    const bool any =
        std::ranges::any_of(op.outputs(), is_single) || std::ranges::any_of(op.inputs(), is_single);
    if (!any || !op.bodies().empty() || op.kind() == OpKind::Custom) return false;
    std::string reason = reason_to_keep(op);
    if (reason.empty()) return true;
    kept_.push_back(
        {std::string(op.location().name()), std::string(op_name(op.kind())), std::move(reason)});
    return false;
  }

  // Squares and sums in front of roots and logarithms: small ones are zero in half precision, large
  // ones infinite, and the function shows it. The chain up to the next other operation is kept.
  void find_delicate(const Operation& op) {
    if (op.kind() != OpKind::Log && op.kind() != OpKind::Sqrt && op.kind() != OpKind::Rsqrt) return;
    std::vector<const Operation*> chain{&op};
    bool squares = op.kind() == OpKind::Log;
    for (size_t i = 0; i < chain.size() && chain.size() < kLongestChain; ++i)
      for (const Tensor* input : chain[i]->inputs()) {
        const Operation* from = is_single(input) ? input->producer() : nullptr;
        if (from == nullptr || !is_sum(*from)) continue;
        squares = squares || is_square(*from);
        chain.push_back(from);
      }
    if (!squares) return;
    for (const Operation* part : chain)
      delicate_.emplace(part, std::string("in front of a ") + std::string(op_name(op.kind())) +
                                  ", where half precision loses small and large numbers");
  }
  static bool is_square(const Operation& op) {
    return op.kind() == OpKind::ReduceSumSquare || op.kind() == OpKind::Pow ||
           op.kind() == OpKind::SquaredDifference ||
           (op.kind() == OpKind::Mul && op.input(0) == op.input(1));
  }
  static bool is_sum(const Operation& op) {
    switch (op.kind()) {
      case OpKind::Add:
      case OpKind::Max:
      case OpKind::Clip:
      case OpKind::Sqrt:
      case OpKind::ReduceSum:
      case OpKind::ReduceMean:
        return true;
      default:
        return is_square(op);
    }
  }

  std::string reason_to_keep(const Operation& op) const {
    if (const auto found = delicate_.find(&op); found != delicate_.end()) return found->second;
    if (const auto found = options_.overflows.find(&op); found != options_.overflows.end())
      return found->second;
    switch (op.kind()) {
      case OpKind::Lstm:
        if (!options_.half_recurrent) return "recurrent layers take half precision from iOS 17 on";
        break;
      case OpKind::Range:
      case OpKind::ReadState:
      case OpKind::WriteState:
        return "it has no form in half precision";
      default:
        break;
    }
    if (std::string fault = fault_of(op.attrs()); !fault.empty()) return fault;
    if (const Tensor* divisor = divisor_of(op); divisor != nullptr && is_kept_from_zero(divisor))
      return "it divides by what a tiny constant alone keeps from zero";
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const Tensor* input = op.input(i);
      if (!is_single(input) || !input->is_constant() || is_parameter(op, i)) continue;
      if (std::string fault = fault_of(input); !fault.empty()) return fault;
    }
    return {};
  }

  // The value in half precision: computed so, converted, or a constant.
  Result<Tensor*> half_of(Tensor* tensor) {
    if (const auto found = halves_.find(tensor); found != halves_.end()) return found->second;
    Tensor* half = nullptr;
    if (tensor->is_constant()) {
      const auto values = tensor->values<float>();
      Buffer bits = Buffer::allocate(values.size() * sizeof(uint16_t));
      if (!bits.ok()) return Error(Code::OutOfMemory, "not enough memory for the weights");
      auto* out = reinterpret_cast<uint16_t*>(bits.data());
      floats_to_halves(values, out);
      // What stands for infinity stays finite: rows that a mask hides whole would be no numbers.
      for (size_t i = 0; i < values.size(); ++i)
        if (std::isfinite(values[i]) && std::abs(values[i]) >= kInfinite)
          out[i] = float_to_half(std::copysign(kLargestHalf, values[i]));
      half = graph_.add_constant(tensor->name(), TensorType(DType::F16, *tensor->shape()),
                                 std::move(bits).to_blob());
      constants_.emplace(half, tensor->name());
    } else {
      EC_TRY(half, graph_.add_single(OpKind::Cast, {tensor}, CastAttrs{.to = DType::F16}));
    }
    halves_.emplace(tensor, half);
    if (!tensor->is_constant()) singles_.emplace(tensor, tensor);
    return half;
  }

  Result<Tensor*> single_of(Tensor* tensor) {
    if (const auto found = singles_.find(tensor); found != singles_.end()) return found->second;
    EC_TRY(Tensor * single,
           graph_.add_single(OpKind::Cast, {halves_.at(tensor)}, CastAttrs{.to = DType::F32}));
    singles_.emplace(tensor, single);
    return single;
  }

  // Parameters are numbers of the program, and rounded as such.
  static void round_parameters(Attrs& attrs) {
    for (const Field& field : attrs.schema().fields) {
      if (field.kind != FieldKind::Float) continue;
      const auto value = static_cast<float>(std::get<double>(attrs.get(field)));
      attrs.set(field, double{half_to_float(float_to_half(value))});
    }
  }

  // A cast between the two precisions that the graph has already: states and values of nested
  // graphs may be halves.
  Result<bool> is_border(Operation& op) {
    if (op.kind() != OpKind::Cast) return false;
    if (op.input(0)->dtype() == DType::F16 && is_single(op.output())) {
      halves_.emplace(op.output(), op.input(0));
      singles_.emplace(op.output(), op.output());
      return true;
    }
    if (!is_single(op.input(0)) || op.output()->dtype() != DType::F16) return false;
    EC_TRY(Tensor * half, half_of(op.input(0)));
    graph_.replace_all_uses(op.output(), half);
    return true;
  }

  static void retype(Attrs& attrs, OpKind kind) {
    // Interpolation is parameters in single precision.
    if (kind != OpKind::Resize) round_parameters(attrs);
    if (kind == OpKind::Cast && attrs.as<CastAttrs>().to == DType::F32)
      attrs.edit<CastAttrs>().to = DType::F16;
    if (kind == OpKind::Dequantize) attrs.edit<DequantizeAttrs>().dtype = DType::F16;
    if (kind == OpKind::EyeLike) attrs.edit<EyeLikeAttrs>().dtype = DType::F16;
  }

  Status convert(Operation& op) {
    std::vector<Tensor*> inputs;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      Tensor* input = op.input(i);
      if (is_single(input) && !is_parameter(op, i)) {
        EC_TRY(input, half_of(input));
      }
      inputs.push_back(input);
    }
    OpSpec spec;
    spec.attrs = op.attrs();
    retype(spec.attrs, op.kind());
    spec.location = op.location();
    spec.num_outputs = op.outputs().size();
    EC_TRY(Operation * half, graph_.add(op.kind(), std::move(inputs), std::move(spec)));
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      Tensor *old = op.output(i), *fresh = half->output(i);
      // What is no float is the same value; floats are read through a cast where f32 is wanted.
      if (old->dtype() == fresh->dtype())
        graph_.replace_all_uses(old, fresh);
      else
        halves_.emplace(old, fresh);
    }
    return {};
  }

  // An operation that stays reads single precision.
  Status connect(Operation& op) {
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      Tensor* input = op.input(i);
      if (!is_single(input) || input->is_constant() || !halves_.contains(input)) continue;
      EC_TRY(Tensor * single, single_of(input));
      graph_.set_operand(&op, i, single);
    }
    return {};
  }

  Graph& graph_;
  const HalfPrecisionOptions& options_;
  // By the tensor of the graph before; looked up, never iterated.
  std::unordered_map<const Tensor*, Tensor*> halves_, singles_;
  std::unordered_map<const Tensor*, std::string> constants_;  // in half precision: the name before
  std::unordered_map<const Operation*, std::string> delicate_;
  std::vector<KeptSingle> kept_;
};

}  // namespace

Result<std::vector<KeptSingle>> give_half_precision(Graph& graph,
                                                    const HalfPrecisionOptions& options) {
  return HalfPrecision(graph, options).run();
}

Status give_single_precision(Graph& graph) {
  for (const Operation* op : graph.topological())
    for (const auto& body : op->bodies()) EC_CHECK_OK(give_single_precision(*body));
  // The type of the result is a parameter here, which the copy would keep.
  for (Operation* op : graph.topological()) {
    if (op->kind() != OpKind::Dequantize) continue;
    Attrs attrs = op->attrs();
    attrs.edit<DequantizeAttrs>().dtype = DType::F32;
    graph.set_attrs(op, std::move(attrs));
  }
  PassContext context;
  Rewriter rewriter(graph, context);
  EC_CHECK_OK(passes::compute_in_single_precision(rewriter));
  // Kernels differ for weights that are known, and roundings behind them show every difference.
  for (Operation* op : graph.topological()) {
    if (op->kind() != OpKind::Cast || !op->input(0)->is_constant()) continue;
    EC_TRY(Tensor * value, rewriter.add_folded(OpKind::Cast, {op->input(0)}, op->attrs()));
    if (value->is_constant()) rewriter.replace(op, value);
  }
  return {};
}

}  // namespace ec::metal
