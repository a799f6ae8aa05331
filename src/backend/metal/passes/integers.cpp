// Integers with scales as floats that are rounded: every tensor of 8 bits is what quantize and
// dequantize make of the float value, weights are dequantised where they stand.
#include <algorithm>
#include <unordered_map>

#include "backend/metal/passes/rules.h"
#include "ops/attrs.h"
#include "ops/convert.h"
#include "ops/op_def.h"
#include "passes/match.h"
#include "support/strings.h"

namespace ec::passes {
namespace {

bool is_byte(DType dtype) { return dtype == DType::I8 || dtype == DType::U8; }

class Simulation {
 public:
  Simulation(Graph& graph, PassContext& context) : graph_(graph), rewriter_(graph, context) {}

  Status run(PassStats& stats) {
    EC_CHECK_OK(give_float_inputs());
    for (Operation* op : graph_.topological()) {
      const bool quantised = has_quant(op);
      if (!quantised) continue;
      EC_CHECK_OK(convert(*op));
      stats.count("operations on integers");
      ++stats.changes;
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (!graph_.outputs()[i]->type().quant) continue;
      EC_TRY(Tensor * value, float_of(graph_.outputs()[i]));
      graph_.set_output(i, value);
    }
    for (auto id = static_cast<uint32_t>(graph_.operation_id_bound()); id-- > 0;)
      if (Operation* op = graph_.operation(id)) rewriter_.erase_if_unused(op);
    for (size_t i = graph_.inputs().size(); i-- > 0;)
      if (graph_.inputs()[i]->type().quant) graph_.erase_input(i);
    return {};
  }

 private:
  // Inputs are real numbers; they are rounded as the model's own were.
  Status give_float_inputs() {
    const std::vector<Tensor*> inputs = graph_.inputs();
    const auto first = std::ranges::find_if(
        inputs, [](const Tensor* input) { return input->type().quant.has_value(); });
    // Later ones are made anew, too, so that the order stays.
    for (auto it = first; it != inputs.end(); ++it) {
      Tensor* old = *it;
      const std::string name = old->name();
      graph_.rename(old, name + "_as_given");
      TensorType type = old->type();
      if (type.quant) type.dtype = DType::F32;
      const bool quantised = type.quant.has_value();
      type.quant.reset();
      Tensor* fresh = graph_.add_input(name, type);
      if (!quantised) {
        graph_.replace_all_uses(old, fresh);
        replaced_.push_back(old);
        continue;
      }
      EC_TRY(Tensor * value, rounded(fresh, old->type()));
      floats_.emplace(old, value);
    }
    for (size_t i = graph_.inputs().size(); i-- > 0;)
      if (std::ranges::find(replaced_, graph_.inputs()[i]) != replaced_.end())
        graph_.erase_input(i);
    return {};
  }

  struct Parameters {
    Tensor *scale = nullptr, *zero_point = nullptr;
    int64_t axis = 0;
  };
  Parameters parameters(const TensorType& type) {
    const QuantParams& quant = *type.quant;
    Parameters p;
    p.axis = std::max(0, quant.axis);
    const auto count = static_cast<int64_t>(quant.scales.size());
    const Shape shape = quant.per_channel() ? Shape{count} : Shape{};
    p.scale = graph_.add_constant<float>("", shape, std::span<const float>(quant.scales));
    std::vector<std::byte> zeros;
    for (size_t i = 0; i < quant.scales.size(); ++i) {
      const int32_t zero = i < quant.zero_points.size() ? quant.zero_points[i] : 0;
      zeros.push_back(static_cast<std::byte>(zero));
    }
    p.zero_point = graph_.add_constant("", TensorType(type.dtype, shape),
                                       Blob::copy_of(std::span<const std::byte>(zeros)));
    return p;
  }

  // quantize and dequantize behind a float; nothing where there are more bits than programs round
  // to.
  Result<Tensor*> rounded(Tensor* x, const TensorType& type) {
    if (!is_byte(type.dtype)) return x;
    const Parameters p = parameters(type);
    EC_TRY(Tensor * bytes, graph_.add_single(OpKind::Quantize, {x, p.scale, p.zero_point},
                                             QuantizeAttrs{.axis = p.axis, .dtype = type.dtype}));
    return graph_.add_single(OpKind::Dequantize, {bytes, p.scale, p.zero_point},
                             DequantizeAttrs{.axis = p.axis});
  }

  Result<Tensor*> float_of(Tensor* tensor) {
    if (const auto found = floats_.find(tensor); found != floats_.end()) return found->second;
    if (!tensor->is_constant())
      return Error(Code::NotOnTarget, "'" + printable(tensor->name()) +
                                          "' holds integers with scales that nothing computes");
    Tensor* value = nullptr;
    if (is_byte(tensor->dtype()) && tensor->shape()->rank() > 0) {
      const Parameters p = parameters(tensor->type());
      TensorType plain = tensor->type();
      plain.quant.reset();
      Tensor* bytes = graph_.add_constant(tensor->name(), plain, tensor->raw_data());
      EC_TRY(value, graph_.add_single(OpKind::Dequantize, {bytes, p.scale, p.zero_point},
                                      DequantizeAttrs{.axis = p.axis}));
    } else {
      value = float_constant(tensor);
    }
    floats_.emplace(tensor, value);
    return value;
  }

  // Biases and others of more bits, as the numbers that they stand for.
  Tensor* float_constant(const Tensor* tensor) {
    const std::vector<int64_t> shape = tensor->shape()->sizes();
    std::vector<double> values(static_cast<size_t>(count_elements(shape)));
    load<double>(ConstView{tensor->dtype(), shape, tensor->data().bytes().data()}, values);
    const QuantParams& quant = *tensor->type().quant;
    size_t inner = 1;
    if (quant.per_channel())
      for (size_t d = static_cast<size_t>(quant.axis) + 1; d < shape.size(); ++d)
        inner *= static_cast<size_t>(shape[d]);
    std::vector<float> floats;
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t channel = quant.per_channel() ? i / inner % quant.scales.size() : 0;
      const double zero =
          channel < quant.zero_points.size() ? double(quant.zero_points[channel]) : 0.0;
      floats.push_back(static_cast<float>((values[i] - zero) * double{quant.scales[channel]}));
    }
    return graph_.add_constant<float>(tensor->name(), *tensor->shape(),
                                      std::span<const float>(floats));
  }

  Status convert(Operation& op) {
    std::vector<Tensor*> inputs;
    for (Tensor* input : op.inputs()) {
      if (input != nullptr && input->type().quant) {
        EC_TRY(input, float_of(input));
      }
      inputs.push_back(input);
    }
    // Operations that only changed between integers and floats.
    if (op.kind() == OpKind::Quantize || op.kind() == OpKind::Dequantize) {
      Tensor* value = inputs[0];
      if (op.output()->type().quant) {
        EC_TRY(value, rounded(value, op.output()->type()));
        floats_.emplace(op.output(), value);
      } else {
        graph_.replace_all_uses(op.output(), value);
      }
      return {};
    }
    OpSpec spec;
    spec.attrs = op.attrs();
    spec.location = op.location();
    spec.num_outputs = op.outputs().size();
    EC_TRY(Operation * copy, graph_.add(op.kind(), std::move(inputs), std::move(spec)));
    // Movement of rounded values gives rounded values.
    const bool same = op.def().quant == QuantRule::SameAsInput && op.input(0) != nullptr &&
                      op.input(0)->type().quant &&
                      op.output()->type().quant == op.input(0)->type().quant;
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      Tensor *old = op.output(i), *value = copy->output(i);
      if (!old->type().quant) {
        graph_.replace_all_uses(old, value);
        continue;
      }
      if (!same) {
        EC_TRY(value, rounded(value, old->type()));
      }
      floats_.emplace(old, value);
    }
    return {};
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::unordered_map<const Tensor*, Tensor*> floats_;  // looked up, never iterated
  std::vector<Tensor*> replaced_;
};

// The numbers that a constant stands for; nothing where its parameters are computed or of blocks.
std::optional<std::vector<float>> dequantized(const Operation* op) {
  const Tensor *x = op->input(0), *scale = op->input(1), *zero_point = op->input(2);
  const auto& attrs = op->attrs_as<DequantizeAttrs>();
  if (!is_constant(x) || !is_constant(scale) || attrs.block_size != 0 ||
      (zero_point != nullptr && !is_constant(zero_point)))
    return std::nullopt;
  const std::vector<double> values = double_values(x), scales = double_values(scale);
  const std::vector<double> zeros =
      zero_point == nullptr ? std::vector<double>() : double_values(zero_point);
  const std::vector<int64_t> shape = x->shape()->sizes();
  const auto axis =
      static_cast<size_t>(std::max<int64_t>(0, positive_axis(attrs.axis, shape.size())));
  size_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
  std::vector<float> floats;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t channel = scales.size() == 1 ? 0 : i / inner % scales.size();
    const double zero = channel < zeros.size() ? zeros[channel] : 0;
    floats.push_back(static_cast<float>((values[i] - zero) * scales[channel]));
  }
  return floats;
}

// Programs round to 8 bits alone: constants of more bits are the numbers that they stand for, and
// values of more bits stay floats.
Result<bool> leave_wide_rounding(Rewriter& r, Operation* op) {
  Tensor* x = op->input(0);
  if (!is_integer(x->dtype()) || bit_width(x->dtype()) <= 8 || x->type().quant ||
      op->output()->dtype() != DType::F32)
    return false;
  const Operation* quantize = produced_by(x, OpKind::Quantize);
  if (quantize != nullptr && quantize->input(0)->dtype() == DType::F32) {
    r.replace(op, quantize->input(0));
    return true;
  }
  const auto floats = dequantized(op);
  if (!floats) return false;
  r.replace(op, r.graph().add_constant<float>("", *x->shape(), std::span<const float>(*floats)));
  return true;
}

// Programs round halves to the even number.
Result<bool> round_to_even(Rewriter& r, Operation* op) {
  if (op->attrs_as<QuantizeAttrs>().rounding == Rounding::HalfEven || has_quant(op)) return false;
  Attrs attrs = op->attrs();
  attrs.edit<QuantizeAttrs>().rounding = Rounding::HalfEven;
  EC_TRY(Tensor * y, r.add(OpKind::Quantize, op->inputs(), std::move(attrs), {op}));
  r.replace(op, y);
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Quantize, round_to_even, "halves rounded to even"},
    {OpKind::Dequantize, leave_wide_rounding, "rounding to more than 8 bits"},
};

// Operations that compute on integers in ways of their own, or keep them from run to run.
bool has_no_float_form(const Operation& op) {
  switch (op.kind()) {
    case OpKind::ReadState:
    case OpKind::WriteState:
    case OpKind::LstmSequence:
    case OpKind::RnnSequence:
    case OpKind::Svdf:
    case OpKind::SoftmaxI16:
    case OpKind::Custom:
      return has_quant(&op);
    default:
      return !op.bodies().empty() && has_quant(&op);
  }
}

}  // namespace

Status simulate_integers(Graph& graph, PassContext& context, PassStats& stats) {
  // The writer refuses them by name.
  for (const Operation* op : graph.topological()) {
    if (has_no_float_form(*op)) return {};
    for (const auto& body : op->bodies()) EC_CHECK_OK(simulate_integers(*body, context, stats));
  }
  for (const Tensor* tensor : graph.tensors()) {
    if (!tensor->type().quant) continue;
    EC_CHECK_OK(Simulation(graph, context).run(stats));
    break;
  }
  EC_TRY(const PassStats rewritten, apply_rules(graph, context, kRules));
  stats.add(rewritten);
  return {};
}

}  // namespace ec::passes
