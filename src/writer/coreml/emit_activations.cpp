// Activations with parameters, and clamps.
#include <limits>

#include "writer/coreml/emitter.h"
#include "writer/coreml/forms.h"

namespace ec::mil {
namespace {

Status emit_alpha(OpEmitter& e, std::string_view type, double alpha) {
  e.emit(type, {{"x", e.in(0)}, {"alpha", e.real(alpha)}});
  return {};
}

Status emit_elu(OpEmitter& e) { return emit_alpha(e, "elu", double{e.attrs<AlphaAttrs>().alpha}); }
Status emit_leaky_relu(OpEmitter& e) {
  return emit_alpha(e, "leaky_relu", double{e.attrs<LeakyReluAttrs>().alpha});
}

Status emit_silu(OpEmitter& e) {
  if (e.attrs<SiluAttrs>().alpha != 1)
    return e.fail("a silu with a factor", std::string(kPipelineHint));
  e.emit("silu", {{"x", e.in(0)}});
  return {};
}

Status emit_gelu(OpEmitter& e) {
  const bool exact = e.attrs<GeluAttrs>().form == GeluForm::Exact;
  e.emit("gelu", {{"x", e.in(0)}, {"mode", e.text(exact ? "EXACT" : "TANH_APPROXIMATION")}});
  return {};
}

Status emit_hard_sigmoid(OpEmitter& e) {
  const auto& attrs = e.attrs<HardSigmoidAttrs>();
  e.emit("sigmoid_hard", {{"x", e.in(0)},
                          {"alpha", e.real(double{attrs.alpha})},
                          {"beta", e.real(double{attrs.beta})}});
  return {};
}

Status emit_prelu(OpEmitter& e) {
  if (!has_coreml_prelu(e.op()))
    return e.fail("slopes that are no constants by channel", std::string(kPipelineHint));
  const ValueType list = ValueType::tensor(e.element(1), {*e.input(1)->type().num_elements()});
  e.emit("prelu", {{"x", e.in(0)}, {"alpha", e.constant(list, e.input(1)->raw_data())}});
  return {};
}

// Bounds that are computed, or of integers, are two operations.
Status emit_clip_by_parts(OpEmitter& e) {
  for (const size_t bound : {1u, 2u})
    if (e.has(bound) && e.rank(bound) > e.rank())
      return e.fail("a bound with more dimensions than the clipped numbers have");
  if (e.has(1) && e.has(2)) {
    const std::string above =
        e.step("maximum", {{"x", e.in(0)}, {"y", e.in(1)}}, type_of(e.op().output()));
    e.emit("minimum", {{"x", above}, {"y", e.in(2)}});
  } else if (e.has(1)) {
    e.emit("maximum", {{"x", e.in(0)}, {"y", e.in(1)}});
  } else if (e.has(2)) {
    e.emit("minimum", {{"x", e.in(0)}, {"y", e.in(2)}});
  } else {
    e.alias(e.in(0));
  }
  return {};
}

Status emit_clip(OpEmitter& e) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto low = e.has(1) ? scalar_value(e.input(1)) : std::optional(-kInfinity);
  const auto high = e.has(2) ? scalar_value(e.input(2)) : std::optional(kInfinity);
  if (!low || !high || !e.is_float_input() || !(*low <= *high)) return emit_clip_by_parts(e);
  if (*low == 0 && *high == kInfinity) {
    e.emit("relu", {{"x", e.in(0)}});
  } else if (*low == 0 && *high == 6) {
    e.emit("relu6", {{"x", e.in(0)}});
  } else if (*low == -kInfinity || *high == kInfinity) {
    return emit_clip_by_parts(e);
  } else {
    e.emit("clip", {{"x", e.in(0)}, {"alpha", e.real(*low)}, {"beta", e.real(*high)}});
  }
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Elu, emit_elu},     {OpKind::LeakyRelu, emit_leaky_relu},
    {OpKind::Silu, emit_silu},   {OpKind::Gelu, emit_gelu},
    {OpKind::Prelu, emit_prelu}, {OpKind::HardSigmoid, emit_hard_sigmoid},
    {OpKind::Clip, emit_clip},
};

}  // namespace

const std::span<const EmitRow> kEmitActivations = kRows;

}  // namespace ec::mil

namespace ec {

// Constants [C, 1, ...] or [1, C, 1, ...] for x [N, C, ...].
bool has_coreml_prelu(const Operation& op) {
  const Tensor *x = op.input(0), *slope = op.input(1);
  if (!slope->is_constant() || !x->shape() || !is_float(x->dtype())) return false;
  const size_t rank = x->shape()->rank(), own = slope->shape()->rank();
  if (rank < 3 || rank > 5 || own > rank || own + 1 < rank) return false;
  for (size_t d = 0; d < own; ++d) {
    const bool channel = d + rank - own == 1;
    const Dim size = (*slope->shape())[d];
    if (channel ? !size.same_size((*x->shape())[1]) : size.size() != 1) return false;
  }
  return true;
}

}  // namespace ec
