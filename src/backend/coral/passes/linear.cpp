// Fully connected layers on several rows: the device computes one.
#include "backend/coral/passes/rules.h"

namespace ec::passes {
namespace {

constexpr int64_t kMostRows = 16;  // that become one layer each

struct Layer {
  int64_t rows = 0, in = 0, out = 0;
  Activation activation = Activation::None;
  float act_alpha = 0, act_beta = 0;
};

template <class A>
std::optional<Layer> layer_of(const Operation* op) {
  const auto& attrs = op->attrs_as<A>();
  const auto x = static_shape(op->input(0)), w = static_shape(op->input(1));
  if (!x || !w || x->size() < 2 || w->size() != 2 || !is_constant(op->input(1)) ||
      attrs.alpha != 1 || attrs.transpose_a || !attrs.transpose_b)
    return std::nullopt;
  Layer layer{1, w->back(), w->front(), attrs.activation, attrs.act_alpha, attrs.act_beta};
  for (size_t d = 0; d + 1 < x->size(); ++d) layer.rows *= (*x)[d];
  if (layer.rows < 2 || x->back() != layer.in) return std::nullopt;
  return layer;
}

// The sums are equal as real numbers; integers would be rounded in another way.
Result<bool> to_convolution(Replacement& p, Operation* op, const Layer& layer) {
  const Tensor* weights = op->input(1);
  TensorType type = weights->type();
  type.shape = Shape{layer.out, 1, 1, layer.in};
  Tensor* filters = p.rewriter().graph().add_constant("", std::move(type), weights->raw_data());
  std::vector<Tensor*> inputs = {p.sized(op->input(0), {1, 1, layer.rows, layer.in}), filters};
  if (op->input(2) != nullptr) inputs.push_back(op->input(2));
  ConvAttrs attrs;
  attrs.layout = Layout::ChannelsLast;
  attrs.activation = layer.activation;
  attrs.act_alpha = layer.act_alpha;
  attrs.act_beta = layer.act_beta;
  Tensor* y = p.op(OpKind::Conv, std::move(inputs), attrs);
  return rewritten(p, p.reshape(y, *op->output()->shape()), "a 1x1 convolution");
}

Result<bool> to_rows(Replacement& p, Operation* op, const Layer& layer) {
  Tensor* x = with_parameters_of(p, p.sized(op->input(0), {layer.rows, layer.in}), op->input(0));
  std::vector<Tensor*> rows;
  for (int64_t i = 0; i < layer.rows; ++i) {
    std::vector<Tensor*> inputs = op->inputs();
    inputs[0] = with_parameters_of(p, p.slice(x, 0, i, i + 1), op->input(0));
    rows.push_back(
        with_parameters_of(p, p.op(op->kind(), std::move(inputs), op->attrs()), op->output()));
  }
  Tensor* y = with_parameters_of(p, p.concat(std::move(rows), 0), op->output());
  return rewritten(p, p.reshape(y, *op->output()->shape()), "one layer per row");
}

template <class A>
Result<bool> single_row(Rewriter& r, Operation* op) {
  const auto layer = layer_of<A>(op);
  if (!layer) return false;
  if constexpr (std::is_same_v<A, GemmAttrs>) {
    const bool bias_fits = op->input(2) == nullptr ||
                           (op->attrs_as<A>().beta == 1 && rank_of(op->input(2)) == size_t{1});
    if (!bias_fits) return false;
  }
  Replacement p(r, op);
  if (is_float_form(op)) return to_convolution(p, op, *layer);
  const bool integers = op->input(0)->type().quant && op->input(1)->type().quant;
  if (!integers || layer->rows > kMostRows) return false;
  return to_rows(p, op, *layer);
}

constexpr RewriteRule kRules[] = {
    {OpKind::MatMul, single_row<MatMulAttrs>, "layers on several rows"},
    {OpKind::Gemm, single_row<GemmAttrs>, "layers on several rows"},
};

}  // namespace

const std::span<const RewriteRule> kCoralLinear = kRules;

}  // namespace ec::passes
