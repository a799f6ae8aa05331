// Convolutions and pools over one spatial dimension: images of height 1.
#include "backend/tflite/passes/height_one.h"

#include "backend/tflite/passes/rules.h"
#include "backend/tflite/passes/windows.h"

namespace ec::passes {
namespace {

void insert_front(std::vector<int64_t>& values, int64_t value) {
  if (!values.empty()) values.insert(values.begin(), value);
}

// pads of one dimension [begin, end] to two [0, begin, 0, end]
void widen_pads(std::vector<int64_t>& pads) {
  if (pads.size() == 2) pads = {0, pads[0], 0, pads[1]};
}

template <class A>
void raise_attrs(A& attrs) {
  insert_front(attrs.strides, 1);
  insert_front(attrs.dilations, 1);
  widen_pads(attrs.pads);
  if constexpr (requires { attrs.kernel; }) insert_front(attrs.kernel, 1);
  if constexpr (requires { attrs.output_padding; }) insert_front(attrs.output_padding, 0);
  if constexpr (requires { attrs.output_sizes; }) insert_front(attrs.output_sizes, 1);
}

// [N, W, C] is an image of height 1.
template <class A>
Result<bool> raise_rank(Rewriter& r, Operation* op) {
  if (rank_of(op->input(0)) != 3 || has_quant(op) || !is_channels_last(op)) return false;
  if (op->outputs().size() != 1) return false;
  const bool weighted = op->kind() == OpKind::Conv || op->kind() == OpKind::ConvTranspose;
  if (weighted && rank_of(op->input(1)) != 3) return false;
  Replacement p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = raised(p, inputs[0]);
  if (weighted) inputs[1] = raised(p, inputs[1]);
  Attrs attrs = op->attrs();
  raise_attrs(attrs.edit<A>());
  Tensor* y = p.op(op->kind(), std::move(inputs), std::move(attrs));
  return p.replace(lowered(p, y, *op->output()->shape()));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Conv, raise_rank<ConvAttrs>, "images of height 1"},
    {OpKind::ConvTranspose, raise_rank<ConvTransposeAttrs>, "images of height 1"},
    {OpKind::MaxPool, raise_rank<PoolAttrs>, "images of height 1"},
    {OpKind::AvgPool, raise_rank<PoolAttrs>, "images of height 1"},
};

}  // namespace

Shape with_height(const Shape& line) {
  std::vector<Dim> dims(line.begin(), line.end());
  dims.insert(dims.begin() + 1, Dim(1));
  return Shape(std::move(dims));
}

Tensor* raised(Replacement& p, Tensor* line) {
  if (line->is_constant()) {
    Result<Tensor*> folded = p.rewriter().add_folded(
        OpKind::Reshape, {line, p.ints(with_height(*line->shape()).sizes())}, ReshapeAttrs{});
    if (folded.ok()) {
      auto quant = line->type().quant;
      if (quant && quant->axis > 0) ++quant->axis;
      if (quant) p.rewriter().graph().set_quant(*folded, quant);
      return *folded;
    }
  }
  // A reshape can state one open size.
  if (!line->shape()->is_static()) return p.op(OpKind::Unsqueeze, {line, p.rewriter().ints({1})});
  return p.reshape(line, with_height(*line->shape()));
}

Tensor* lowered(Replacement& p, Tensor* image, const Shape& line) {
  if (!line.is_static() && p.ok()) return p.op(OpKind::Squeeze, {image, p.rewriter().ints({1})});
  return p.reshape(image, line);
}

const std::span<const RewriteRule> kTfliteHeightOne = kRules;

}  // namespace ec::passes
