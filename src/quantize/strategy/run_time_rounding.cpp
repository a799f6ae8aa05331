#include "quantize/strategy/run_time_rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/attrs.h"

namespace ec::quantize {
namespace {

const Operation* producer_of(const Tensor* tensor, OpKind kind) {
  const Operation* op = tensor == nullptr ? nullptr : tensor->producer();
  return op != nullptr && op->kind() == kind ? op : nullptr;
}

// The operand behind a cast to a type that holds every byte and sums of products of them.
const Tensor* cast_from(const Tensor* tensor) {
  const Operation* cast = producer_of(tensor, OpKind::Cast);
  if (cast == nullptr) return nullptr;
  const DType type = cast->output()->dtype();
  const bool wide = type == DType::F32 || type == DType::F64 || type == DType::I32;
  return wide ? cast->input(0) : nullptr;
}

// A scale in front of the reshapes that exporters make of it.
const Tensor* before_reshapes(const Tensor* scale) {
  while (const Operation* reshape = producer_of(scale, OpKind::Reshape)) scale = reshape->input(0);
  return scale;
}

// The only reader of a tensor that no output is.
Operation* reader_of(const Graph& graph, const Tensor* tensor, OpKind kind) {
  if (!graph.has_single_use(tensor) || graph.is_output(tensor)) return nullptr;
  Operation* op = tensor->uses().front().op;
  return op->kind() == kind ? op : nullptr;
}

// The real numbers that a dequantize of rounded ones was given, where a run computes their scale:
// dequantize(min?(quantize(x, scale, zero)), scale, zero).
Tensor* rounded_at_run_time(const Operation& dequantize) {
  if (dequantize.inputs().size() < 2 || dequantize.input(1) == nullptr) return nullptr;
  const Tensor *scale = before_reshapes(dequantize.input(1)), *stored = dequantize.input(0);
  if (scale->is_constant()) return nullptr;
  // Seven bits of eight.
  if (const Operation* bound = producer_of(stored, OpKind::Min);
      bound != nullptr && bound->input(1)->is_constant())
    stored = bound->input(0);
  const Operation* quantize = stored->producer();
  if (quantize == nullptr) return nullptr;
  const bool same_scale =
      quantize->kind() == OpKind::DynamicQuantize
          ? quantize->output(0) == stored && quantize->output(1) == scale
          : quantize->kind() == OpKind::Quantize && before_reshapes(quantize->input(1)) == scale;
  return same_scale ? quantize->input(0) : nullptr;
}

// Integers less their zero point, as floats: (float)q - (float)zero, or (float)q.
struct Steps {
  const Tensor *integers = nullptr, *zero = nullptr;
};
std::optional<Steps> steps_of(const Tensor* tensor) {
  if (const Tensor* integers = cast_from(tensor)) return Steps{integers, nullptr};
  const Operation* sub = producer_of(tensor, OpKind::Sub);
  if (sub == nullptr) return std::nullopt;
  const Steps steps{cast_from(sub->input(0)), cast_from(sub->input(1))};
  if (steps.integers == nullptr || steps.zero == nullptr) return std::nullopt;
  return steps;
}

bool is_byte(const Tensor* tensor) {
  return tensor->dtype() == DType::I8 || tensor->dtype() == DType::U8;
}

// ConvInteger or MatMulInteger behind a DynamicQuantizeLinear, up to the product with both scales.
struct IntegerLayer {
  const Operation* layer = nullptr;  // convolution or product of steps
  Tensor* x = nullptr;               // what is rounded
  Steps weights;
  Tensor* scale = nullptr;  // of the weights
  int64_t axis = 0;         // of the weights that has the scales
  Operation* scaled = nullptr;
};

bool are_scales(const Tensor& tensor) {
  return tensor.dtype() == DType::F32 && std::ranges::all_of(tensor.values<float>(), [](float s) {
           return std::isfinite(s) && s > 0;
         });
}

// The constant factor of scale_x * scale_weights.
Tensor* other_factor(const Tensor* product, const Tensor* scale) {
  const Operation* mul = producer_of(product, OpKind::Mul);
  if (mul == nullptr) return nullptr;
  for (const size_t i : {size_t{0}, size_t{1}})
    if (mul->input(i) == scale && mul->input(1 - i)->is_constant()) return mul->input(1 - i);
  return nullptr;
}

std::optional<IntegerLayer> integer_layer(const Graph& graph, const Operation& op) {
  if (op.kind() != OpKind::Conv && op.kind() != OpKind::MatMul) return std::nullopt;
  if (op.inputs().size() > 2 && op.input(2) != nullptr) return std::nullopt;
  const std::optional<Steps> rounded = steps_of(op.input(0)), weights = steps_of(op.input(1));
  if (!rounded || !weights || !weights->integers->is_constant() || !is_byte(weights->integers) ||
      (weights->zero != nullptr && !weights->zero->is_constant()))
    return std::nullopt;
  const Operation* quantize = producer_of(rounded->integers, OpKind::DynamicQuantize);
  if (quantize == nullptr || rounded->integers != quantize->output(0) ||
      rounded->zero != quantize->output(2))
    return std::nullopt;
  IntegerLayer found{.layer = &op, .x = quantize->input(0), .weights = *weights};
  // Integers of 32 bits, and floats again.
  const Tensor* sum = op.output();
  while (Operation* cast = reader_of(graph, sum, OpKind::Cast)) sum = cast->output();
  found.scaled = reader_of(graph, sum, OpKind::Mul);
  if (found.scaled == nullptr || sum->dtype() != DType::F32) return std::nullopt;
  const size_t other = found.scaled->input(0) == sum ? 1 : 0;
  found.scale = other_factor(found.scaled->input(other), quantize->output(1));
  if (found.scale == nullptr || !are_scales(*found.scale)) return std::nullopt;
  const Shape &scales = *found.scale->shape(), &shape = *found.weights.integers->shape();
  const Tensor* zero = found.weights.zero;
  if (zero != nullptr && zero->shape()->rank() != 0 && *zero->shape() != scales)
    return std::nullopt;
  if (scales.rank() == 0) return found;
  // One for each column.
  const bool by_column = op.kind() == OpKind::MatMul && shape.rank() >= 2 && scales.rank() == 1 &&
                         scales.dims()[0] == shape.dims().back();
  found.axis = static_cast<int64_t>(shape.rank()) - 1;
  return by_column ? std::optional(found) : std::nullopt;
}

// The zero point as often as there are scales.
Tensor* zero_for_each(Graph& graph, const IntegerLayer& found) {
  const Tensor& zero = *found.weights.zero;
  if (zero.shape()->rank() == found.scale->shape()->rank()) return const_cast<Tensor*>(&zero);
  const auto count = static_cast<size_t>(found.scale->shape()->dims().front().size());
  const std::vector<std::byte> repeated(count, zero.data().bytes().front());
  return graph.add_constant("", TensorType(zero.dtype(), *found.scale->shape()),
                            Blob::copy_of(std::span<const std::byte>(repeated)));
}

Status make_real(Graph& graph, const IntegerLayer& found) {
  ec::OpSpec back;
  DequantizeAttrs attrs;
  attrs.axis = found.axis;
  back.attrs = Attrs(attrs);
  back.location = found.layer->location();
  std::vector<Tensor*> operands{const_cast<Tensor*>(found.weights.integers), found.scale};
  if (found.weights.zero != nullptr) operands.push_back(zero_for_each(graph, found));
  EC_TRY(const Operation* weights,
         graph.add(OpKind::Dequantize, std::move(operands), std::move(back)));
  ec::OpSpec real;
  real.attrs = found.layer->attrs();
  real.location = found.layer->location();
  EC_TRY(const Operation* layer,
         graph.add(found.layer->kind(), {found.x, weights->output()}, std::move(real)));
  graph.replace_all_uses(found.scaled->output(), layer->output());
  return {};
}

}  // namespace

Result<size_t> drop_run_time_rounding(Graph& graph) {
  size_t dropped = 0;
  for (Operation* op : graph.topological()) {
    if (op->kind() == OpKind::Dequantize) {
      Tensor* x = rounded_at_run_time(*op);
      if (x == nullptr || x->dtype() != op->output()->dtype()) continue;
      graph.replace_all_uses(op->output(), x);
      ++dropped;
    } else if (op->kind() == OpKind::Lstm &&
               op->attrs_as<RecurrentAttrs>().dynamic_quantize_inputs) {
      RecurrentAttrs attrs = op->attrs_as<RecurrentAttrs>();
      attrs.dynamic_quantize_inputs = false;
      graph.set_attrs(op, Attrs(std::move(attrs)));
      ++dropped;
    } else if (const auto found = integer_layer(graph, *op)) {
      EC_CHECK_OK(make_real(graph, *found));
      ++dropped;
    }
  }
  return dropped;
}

Diagnostic run_time_rounding_remark(size_t layers, std::string_view target) {
  Diagnostic told(Code::KeptInFloat,
                  fmt::format("{} layers round their inputs at run time; target '{}' gets float "
                              "layers with the model's 8-bit weights",
                              layers, target));
  told.severity = Severity::Remark;
  told.hint =
      "--quantize ptq with --calibration-data gives integers; --quantize none gives float weights";
  return told;
}

}  // namespace ec::quantize
